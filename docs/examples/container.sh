#!/bin/sh
# In any container with git and Python: a model of Ollama in another one, memory in a folder that outlives both.
#
#     docker network create ai
#     docker run -d --network ai --name ollama -v ollama:/root/.ollama ollama/ollama
#     docker exec ollama ollama pull qwen3:8b
#     docker run --rm --network ai -v "$PWD:/work" -v ogcode:/state -w /work -e OLLAMA_HOST=http://ollama:11434 \
#         python:3.12 sh -c 'pip install -q ogcode && sh docs/examples/container.sh'
set -eu
export OGCODE_HOME="${OGCODE_HOME:-/state}"
export OGCODE_MODEL="${OGCODE_MODEL:-ollama/qwen3:8b}"
git config --global --add safe.directory "$PWD"
ogcode doctor || echo "doctor has found something; going on" >&2
ogcode -p "Bring CHANGELOG.md up to date with the last commits." --trust --mode edit --max-turns 40 --time-limit 1800
ogcode memory list --limit 3

"""Commands as developers and models give them every day: some only read, the others build, test and change."""

READING = r"""
ls
ls -la
ls -la src tests
ls -R src | head -50
pwd
cat README.md
cat -n src/app.py | head -40
head -20 src/app.py
head -n 5 README.md src/app.py
tail -n 20 README.md
tail -c 100 README.md
wc -l src/*.py
wc -l *.md
sed -n 1,40p src/app.py
sed -n '10,20p' src/app.py
sed -n '/def /p' src/app.py
sed 's/foo/bar/g' README.md | head -5
nl -b a src/app.py
grep -n TODO src/app.py
grep -rn "def " src
grep -rn --include='*.py' "import os" .
grep -c "" README.md
grep -E "foo|bar$" README.md || true
grep -A3 -B2 main src/app.py
rg TODO
rg -n "class \w+" src --type py
rg -l add -g '*.py' | sort
rg --files | wc -l
find . -name "*.py" -not -path "./.git/*"
find src -type f -name '*.py' | sort
find . -maxdepth 2 -type d
find src \( -name '*.py' -o -name '*.js' \) -print
git status
git status --short
git status -sb
git diff
git diff --stat
git diff HEAD~1 -- src
git diff --cached --name-only
git diff HEAD~1..HEAD
git log --oneline -10
git log -p -1
git log --graph --oneline --all
git log --format='%h %an %s' -5 -- src/app.py
git log --since="2 weeks ago" --stat
git show
git show HEAD --stat
git show HEAD:src/app.py | head -20
git show HEAD~1 -- README.md
git branch
git branch -a
git branch --show-current
git rev-parse HEAD
git rev-parse --show-toplevel
git remote -v
git blame -L 1,5 src/app.py
git ls-files
git ls-files | grep py
git describe --tags --always
git stash list
git tag -l
git config --get user.name
git --no-pager log -3 --oneline
cd src && ls
cd src && git log --oneline -3
cd src; cat app.py 2>/dev/null | wc -l
awk '{print $1}' README.md
awk -F: 'NR<=3 {print $1, $2}' README.md
jq . package.json
jq -r '.scripts | keys[]' package.json
cut -d' ' -f1 README.md | sort | uniq -c | sort -rn | head -5
tr a-z A-Z < README.md
diff -u README.md src/app.py
cmp README.md src/app.py
sha256sum README.md
file src/app.py
stat -c '%s %n' README.md
du -sh src
df -h .
tree -L 2
basename src/app.py .py
realpath src/app.py
date +%Y-%m-%d
which python3 bash
type ls
command -v git && git --version
python3 --version
node --version
uname -a
id -un
env | sort
ps aux | head -3
echo "--- done ---"
printf '%s\n' one two
test -f README.md && echo there
xxd README.md | head -2
ls nothing 2>/dev/null || echo none
cat README.md 2>&1 | tail -3
column -t README.md
seq 1 5 | paste -sd,
ls src # what is there
"""

CHANGING = r"""
pytest -q
pytest tests/test_app.py::test_add -x
python -m pytest tests -k "add and not slow"
python3 -m unittest discover
python script.py --flag value
python3 -c "print(1 + 1)"
node index.js
node -e "console.log(1)"
npm install
npm ci
npm test
npm test -- --watch=false
npm run build
npm run lint -- --fix
npx eslint src --fix
npx tsc --noEmit
yarn install
yarn test
pnpm build
bun test
make
make -j4
make test
make clean && make all
cmake -S . -B build
cmake --build build
ninja -C build
gcc -O2 -o app main.c
g++ -std=c++20 main.cpp -o main && ./main
cargo build
cargo test -- --nocapture
cargo run --release
cargo fmt --check
cargo clippy
go build ./...
go test ./...
go run .
go mod tidy
mvn -q test
gradle build
./gradlew test
./mvnw package
dotnet build
dotnet test
ruby script.rb
bundle exec rspec
rails test
composer install
php artisan migrate
pip install -r requirements.txt
pip install -e '.[dev]'
uv sync
uv run pytest
poetry install
tox -e py311
ruff check --fix .
ruff format src
black src
mypy src
pre-commit run --all-files
eslint src
prettier --write src
tsc -p .
vitest run
jest --coverage
playwright test
docker build -t app .
docker compose up -d
docker run --rm app
kubectl get pods
terraform plan
ansible-playbook site.yml
git add -A
git add src/app.py && git commit -m "Fix the adder"
git commit --amend --no-edit
git checkout -b feature
git switch main
git restore src/app.py
git reset --hard HEAD~1
git stash
git stash pop
git merge main
git rebase main
git cherry-pick abc123
git push
git push -u origin feature
git pull --rebase
git fetch origin
git clone https://example.invalid/a.git
git tag v1.0
git branch -d old
git submodule update --init
git apply fix.patch
git rm old.py
git mv a.py b.py
mkdir -p src/new
touch src/new/__init__.py
cp README.md README.bak
mv a.txt b.txt
rm build.log
rm -rf build dist
ln -s src link
chmod +x run.sh
echo "x = 1" > config.py
echo "y = 2" >> config.py
cat README.md > copy.md
sed -i 's/foo/bar/' README.md
perl -pi -e 's/a/b/' README.md
find . -name '*.pyc' -delete
find . -name '*.py' -exec grep -l TODO {} +
find src -name '*.py' | xargs wc -l
for f in *.py; do echo "$f"; done
if [ -f a ]; then cat a; fi
FOO=1 ./run.sh
export PATH="$PWD/bin:$PATH" && run
source .venv/bin/activate && pytest
bash scripts/setup.sh
sh -c 'echo hi'
./scripts/build.sh --release
curl -s https://example.invalid/api | jq .
wget https://example.invalid/file.tar.gz
tar xzf file.tar.gz
tar czf out.tgz src
unzip file.zip
sqlite3 app.db 'select 1'
psql -c 'select 1'
alembic upgrade head
flask run &
timeout 60 npm start
time make
sudo apt-get install -y jq
apt-get update
kill 1234
tee out.txt < README.md
"""


def lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]

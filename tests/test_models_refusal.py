import json

import pytest

from ogcode.agent.model import Broken, ContextOverflow, ModelError, NoSuchModel, Overloaded, RateLimited, Refused
from ogcode.agent.models.refusal import complaint, refusal

OVERFLOWS = {
    "OpenAI": (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    "OpenAI, older": (
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545.",
    ),
    "OpenAI, code": (400, {"error": {"message": "Too long.", "code": "context_length_exceeded"}}),
    "Azure": (
        400,
        {"error": {"code": "context_length_exceeded", "message": "This model's maximum context length is 1"}},
    ),
    "Anthropic": (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    "Anthropic, answer": (400, "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000"),
    "Anthropic, bytes": (413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    "Gemini": (400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
    "Mistral": (
        400,
        "Prompt contains 40012 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    ),
    "Groq": (400, "Please reduce the length of the messages or completion."),
    "Groq, on demand": (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000"),
    "xAI": (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    "DeepSeek": (400, "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens"),
    "OpenRouter": (400, "This endpoint's maximum context length is 200000 tokens. However, you requested about 201000"),
    "Cerebras": (
        400,
        "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
    ),
    "Bedrock": (400, "Input is too long for requested model."),
    "Bedrock, Claude": (
        400,
        "The model returned the following errors: prompt is too long: 200001 tokens > 200000 maximum",
    ),
    "Together": (
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens",
    ),
    "Fireworks": (400, "The prompt is too long: 150000, model maximum context length: 131071"),
    "Moonshot": (400, "Invalid request: Your request exceeded model token limit: 262144"),
    "MiniMax": (400, "invalid params, context window exceeds limit (2013)"),
    "Z.AI": (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    "DashScope": (400, "Range of input length should be [1, 129024]"),
    "Copilot": (400, "prompt token count of 140000 exceeds the limit of 128000"),
    "Cohere": (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
    "llama.cpp": (
        400,
        {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it"}},
    ),
    "llama.cpp, type": (400, {"error": {"type": "exceed_context_size_error", "message": "request (9000) too large"}}),
    "vLLM": (400, "The decoder prompt (length 40960) is longer than the maximum model length of 32768."),
    "vLLM, answer": (
        400,
        "This model's maximum context length is 131072 tokens. However, you requested 128000 output tokens",
    ),
    "SGLang": (400, "The input (40000 tokens) is longer than the model's context length (32768 tokens)."),
    "LM Studio": (400, "The number of tokens to keep from the initial prompt is greater than the context length"),
    "LM Studio, older": (400, "Trying to keep the first 8000 tokens when context the overflows."),
    "Ollama": (400, "prompt too long; exceeded max context length by 4 tokens"),
    "Ollama, runner": (500, "the input length exceeds the context length"),
}


@pytest.mark.parametrize(("status", "body"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_an_overflow_is_known_by_its_words(status: int, body: object) -> None:
    error = refusal(status, body if isinstance(body, str) else json.dumps(body), model="m", place="p")
    assert type(error) is ContextOverflow
    assert one_sentence(error)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (400, "max_tokens must be at least 1", Refused),
        (400, "max_tokens is too large: 200000. This model supports at most 16384 completion tokens", Refused),
        (400, "Invalid value for 'context': expected a string", Refused),
        (429, "Too many tokens, please wait before trying again.", RateLimited),
        (429, "Rate limit reached for input tokens per minute: the maximum number of tokens is 30000", RateLimited),
        (500, "failed to process the context: out of memory", Overloaded),
        (404, "model 'long-context' not found", NoSuchModel),
    ],
)
def test_other_words_of_length_and_tokens_are_no_overflow(status: int, text: str, kind: type[ModelError]) -> None:
    assert type(refusal(status, text, model="m", place="p")) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, Overloaded),
        ({"type": "api_error", "message": "Internal server error"}, Overloaded),
        ({"type": "rate_limit_error", "message": "Number of tokens has exceeded your limit"}, RateLimited),
        ({"type": "invalid_request_error", "message": "messages: at least one is required"}, Refused),
        ({"code": 502, "message": "Provider returned error"}, Overloaded),
        ({"message": "prompt is too long: 2 tokens > 1 maximum"}, ContextOverflow),
        ("boom", Broken),
    ],
)
def test_an_error_inside_a_stream_is_told_apart(error: object, kind: type[ModelError]) -> None:
    found = complaint(error, model="m", place="p")
    assert type(found) is kind
    assert one_sentence(found)


BODIES = {
    "nothing": "",
    "a page": "<html><body>502 Bad Gateway</body></html>",
    "a list": json.dumps([{"error": {"message": "bad"}}]),
    "deep": json.dumps({"error": {"message": {"message": {"reason": "bad"}}}}),
    "lines": "first\nsecond\r\n\tthird",
    "controls": "\x1b[31mred\x07",
    "long": "word " * 5000,
    "a key": "key sk-ant-api03-abcdefgh was refused; Bearer abc.def.ghi, too",
}


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 413, 418, 422, 429, 500, 503, 529])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_every_refusal_is_one_sentence_without_a_key(status: int, body: str) -> None:
    error = refusal(status, body, model="m", place="p")
    assert one_sentence(error)
    assert "abcdefgh" not in str(error)
    assert "abc.def" not in str(error)


def one_sentence(error: ModelError) -> bool:
    text = str(error)
    return text.isprintable() and text.startswith("m") and len(text) < 500 and not text.endswith(".")

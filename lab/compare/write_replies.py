"""`python -m lab.compare.write_replies MODEL.gguf`: writes the replies of a chat model to all prompts that have none.

It needs `transformers`, `gguf` and PyTorch, and reads all prompts in batches; with a GPU this takes minutes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

MAX_NEW_TOKENS, BATCH_PROMPTS = 512, 32


def write_replies(model: Any, tokenizer: Any, prompts: list[dict[str, Any]]) -> list[str]:
    """The reply to each prompt at temperature 0."""
    chats = [
        [
            {"role": "system", "content": prompt["instructions"]},
            {"role": "user", "content": prompt["message"]},
        ][not prompt["instructions"] :]
        for prompt in prompts
    ]
    texts = [tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats]
    batch = tokenizer(texts, return_tensors="pt", padding=True).to(model.device)
    with torch.inference_mode():
        written = model.generate(**batch, max_new_tokens=MAX_NEW_TOKENS, do_sample=False)
    replies: list[str] = tokenizer.batch_decode(written[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
    return replies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the weights, as GGUF")
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--replies", type=Path, required=True)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    source = {"pretrained_model_name_or_path": str(options.model.parent), "gguf_file": options.model.name}
    tokenizer = AutoTokenizer.from_pretrained(**source, padding_side="left")
    unpacked = GgufConfig(dequantize=True)  # packed weights are unpacked again for every token
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16, quantization_config=unpacked)
    model = model.to(device).eval()
    done = options.replies.read_text(encoding="utf-8").splitlines() if options.replies.exists() else []
    known = {json.loads(line)["id"] for line in done}
    rows = [json.loads(line) for line in options.prompts.read_text(encoding="utf-8").splitlines()]
    rows = sorted((row for row in rows if row["id"] not in known), key=lambda row: len(row["prompt"]["message"]))
    for at in range(0, len(rows), BATCH_PROMPTS):
        chosen = rows[at : at + BATCH_PROMPTS]
        replies = write_replies(model, tokenizer, [row["prompt"] for row in chosen])
        with options.replies.open("a", encoding="utf-8") as file:
            for row, reply in zip(chosen, replies, strict=True):
                file.write(json.dumps({"id": row["id"], "reply": reply}, ensure_ascii=False) + "\n")
        print(f"{at + len(chosen)} of {len(rows)} replies", flush=True)


if __name__ == "__main__":
    main()

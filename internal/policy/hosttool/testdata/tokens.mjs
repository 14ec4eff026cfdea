// Counts the tokens of each text of a JSON array on stdin, by four tokenizers. Prints a JSON object with an array for each.
import fs from "node:fs";
import * as o200k from "gpt-tokenizer/encoding/o200k_base";
import { countTokens } from "@anthropic-ai/tokenizer";
import mistral from "mistral-tokenizer-js";
import llama from "llama-tokenizer-js";

const texts = JSON.parse(fs.readFileSync(0, "utf8"));
console.log(JSON.stringify({
  "GPT (o200k)": texts.map((t) => o200k.encode(t).length),
  "Claude 2": texts.map((t) => countTokens(t)),
  "Mistral 7B": texts.map((t) => mistral.encode(t, false, false).length),
  "Llama 2": texts.map((t) => llama.encode(t, false, false).length),
}));

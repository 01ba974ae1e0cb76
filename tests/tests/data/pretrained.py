"""Writes tiny random models as Hugging Face saves them, and what they say: pretrained/*.safetensors and pretrained/values.json.

    python pretrained.py        (made with torch 2.15.0, transformers 5.23.0, peft 0.21.2; in the folder of this file)

The Llama is saved with adapters of PEFT's, too: pretrained/llama_lora.safetensors.
"""
import json, os, shutil, tempfile
import peft, torch, transformers as hf

torch.manual_seed(0)
os.makedirs("pretrained", exist_ok=True)
tokens = torch.tensor([[3, 0, 7, 11, 2], [1, 1, 9, 4, 10]])
types = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]])
pixels = torch.rand(2, 3, 8, 8)
MODELS = {
    "gpt2": (hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=12, n_positions=6, n_embd=8, n_layer=2, n_head=2)), dict(input_ids=tokens)),
    "llama": (hf.LlamaForCausalLM(hf.LlamaConfig(vocab_size=12, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
                                                 num_key_value_heads=2, max_position_embeddings=6, rms_norm_eps=1e-5)), dict(input_ids=tokens)),
    "bert": (hf.BertModel(hf.BertConfig(vocab_size=12, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                                        max_position_embeddings=6), add_pooling_layer=False), dict(input_ids=tokens, token_type_ids=types)),
    "vit": (hf.ViTForImageClassification(hf.ViTConfig(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=8,
                                                      patch_size=4, num_labels=3)), dict(pixel_values=pixels)),
}
values = dict(tokens=tokens.flatten().tolist(), types=types.flatten().tolist(), pixels=pixels.permute(0, 2, 3, 1).flatten().tolist())
for name, (model, inputs) in MODELS.items():
    model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        # One is kept in sixteen bits, which are widened where they are read.
        if name == "vit":
            model = model.bfloat16().float()
        out = model(**inputs)
        out = out.last_hidden_state if name == "bert" else out.logits
        values[name] = dict(shape=list(out.shape), data=[float(f"{v:.9g}") for v in out.flatten().tolist()])
        with tempfile.TemporaryDirectory() as dir:
            (model.bfloat16() if name == "vit" else model).save_pretrained(dir)
            shutil.copy(f"{dir}/model.safetensors", f"pretrained/{name}.safetensors")
torch.manual_seed(1)
llama = MODELS["llama"][0]
adapted = peft.get_peft_model(llama, peft.LoraConfig(r=2, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj"], lora_dropout=0.1))
adapted.eval()
with torch.no_grad():
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            parameter.copy_(0.3 * torch.randn_like(parameter))
    out = adapted(input_ids=tokens).logits
values["llama_lora"] = dict(shape=list(out.shape), data=[float(f"{v:.9g}") for v in out.flatten().tolist()])
with tempfile.TemporaryDirectory() as dir:
    adapted.save_pretrained(dir)
    shutil.copy(f"{dir}/adapter_model.safetensors", "pretrained/llama_lora.safetensors")
with open("pretrained/values.json", "w") as file:
    json.dump(values, file)

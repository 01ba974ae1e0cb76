"""Writes adapters of PEFT for tiny random models, and the logits of the adapted models: peft/NAME/* and peft/values.json.

    python make_peft.py      (made with torch 2.15.0, transformers 5.24.0, peft 0.21.0; in the folder of this file)

The base models are those of pretrained.py, read from pretrained/*.safetensors.
"""
import json, os, shutil, tempfile
import peft, torch, transformers as hf

tokens = torch.tensor([[3, 0, 7, 11, 2], [1, 1, 9, 4, 10]])
types = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]])
pixels = json.load(open("pretrained/values.json"))["pixels"]
pixels = torch.tensor(pixels).reshape(2, 8, 8, 3).permute(0, 3, 1, 2)


def gpt2():
    return hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=12, n_positions=6, n_embd=8, n_layer=2, n_head=2))


def llama():
    return hf.LlamaForCausalLM(hf.LlamaConfig(vocab_size=12, hidden_size=16, intermediate_size=20, num_hidden_layers=2,
                                              num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=6, rms_norm_eps=1e-5))


def bert():
    return hf.BertModel(hf.BertConfig(vocab_size=12, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                                      max_position_embeddings=6), add_pooling_layer=False)


def vit():
    return hf.ViTForImageClassification(hf.ViTConfig(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                                                     image_size=8, patch_size=4, num_labels=3))


INPUTS = {gpt2: dict(input_ids=tokens), llama: dict(input_ids=tokens), bert: dict(input_ids=tokens, token_type_ids=types),
          vit: dict(pixel_values=pixels)}
LOADING = {bert: dict(add_pooling_layer=False)}
CASES = {
    # LoRA with other ranks and alphas by layer and by module; the first pattern that matches counts.
    "patterns": (llama, dict(r=2, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj", "gate_proj"],
                             rank_pattern={r"layers\.1\.self_attn\.q_proj": 3, "q_proj": 1, r".*\.1\.mlp\.gate_proj": 4},
                             alpha_pattern={"self_attn.v_proj": 5, r"layers\.[1-9]\.mlp\..*": 9, "down_proj": 1})),
    # rsLoRA in some layers only, and a head that is trained whole.
    "rslora_head": (llama, dict(r=4, lora_alpha=8, use_rslora=True, target_modules=["k_proj", "o_proj", "up_proj"],
                                layers_to_transform=[1], layers_pattern="layers", modules_to_save=["lm_head", "input_layernorm"])),
    # DoRA with rsLoRA.
    "dora": (llama, dict(r=2, lora_alpha=5, use_dora=True, use_rslora=True, target_modules=["q_proj", "v_proj", "down_proj", "lm_head"])),
    # DoRA of one layer of two, whose map is the fused one of GPT-2, [in, out].
    "gpt2_dora": (gpt2, dict(r=3, lora_alpha=6, use_dora=True, target_modules=["c_attn", "c_proj"], layers_to_transform=1,
                             fan_in_fan_out=True, rank_pattern={"mlp.c_proj": 2})),
    # All biases, a regular expression for targets, and modules that are left out.
    "bert_bias": (bert, dict(r=2, lora_alpha=3, bias="all", target_modules=r".*\.(query|key|dense)", exclude_modules=["output.dense"],
                             use_dora=True)),
    # All linear layers, with biases of these alone and a classifier that is trained whole.
    "vit": (vit, dict(r=2, lora_alpha=4, bias="lora_only", target_modules="all-linear", modules_to_save=["classifier"])),
    # Weights as parameters.
    "parameters": (llama, dict(r=2, lora_alpha=4, target_modules=["q_proj"], target_parameters=["mlp.down_proj.weight", "k_proj.weight"])),
}

if __name__ == "__main__":
    values = {}
    for name, (make, options) in CASES.items():
        torch.manual_seed(len(name))
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            make().config.save_pretrained(folder)
            shutil.copy(f"pretrained/{make.__name__}.safetensors", f"{folder}/model.safetensors")
            load = lambda: type(make()).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", **LOADING.get(make, {})).eval()
            adapted = peft.get_peft_model(load(), peft.LoraConfig(lora_dropout=0.0, **options))
            for key, parameter in adapted.named_parameters():
                if parameter.requires_grad:
                    by = 0.3 * torch.randn_like(parameter)
                    parameter.copy_(by if "lora_A" in key or "lora_B" in key else parameter + by)
            adapted.save_pretrained(f"{folder}/adapter")
            # PEFT sorts the keys of its file, and so the order of patterns: the reference is the model that is loaded again.
            adapted = peft.PeftModel.from_pretrained(load(), f"{folder}/adapter").eval()
            out = adapted(**INPUTS[make])
            out = out.last_hidden_state if make is bert else out.logits
            os.makedirs(f"peft/{name}", exist_ok=True)
            for file in ["adapter_config.json", "adapter_model.safetensors"]:
                shutil.copy(f"{folder}/adapter/{file}", f"peft/{name}/{file}")
            with open(f"peft/{name}/adapter_config.json") as file:
                config = json.load(file) | dict(base_model_name_or_path=None)
            with open(f"peft/{name}/adapter_config.json", "w") as file:
                json.dump(config, file, indent=2)
        values[name] = [float(f"{v:.9g}") for v in out.flatten().tolist()]
    with open("peft/values.json", "w") as file:
        json.dump(values, file)

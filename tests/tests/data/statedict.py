"""Reads and writes state dicts with Python's own libraries, for statedict_python.rs.

    python statedict.py read FILE...      prints {name: [dtype, shape, hexadecimal bytes]} of safetensors files
    python statedict.py write FILE        writes a safetensors file of what stands as such JSON on the standard input
    python statedict.py torch FILE        prints the same of a file of torch.save: with torch where it is installed (weights_only),
                                          and otherwise with Python's own pickle and zipfile, and stand-ins for torch's functions

The first line of `torch` says which of the two it was.
"""
import collections, ctypes, json, pickle, sys, zipfile

NAMES = {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "float64": "F64", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
         "uint8": "U8", "bool": "BOOL", "uint16": "U16", "float8_e4m3fn": "F8_E4M3"}


def read(files):
    from safetensors import deserialize
    tensors = {}
    for file in files:
        with open(file, "rb") as f:
            for name, tensor in deserialize(f.read()):
                assert name not in tensors, name
                tensors[name] = [tensor["dtype"], tensor["shape"], bytes(tensor["data"]).hex()]
    print(json.dumps(tensors))


def write(file):
    import safetensors
    given = json.load(sys.stdin)
    names = {safe: name for name, safe in NAMES.items()}
    tensors, kept = {}, []
    for name, (dtype, shape, data) in given.items():
        data = bytes.fromhex(data)
        if hasattr(safetensors, "TensorSpec"):
            kept.append(ctypes.create_string_buffer(data, max(len(data), 1)))
            address = ctypes.addressof(kept[-1])
            tensors[name] = safetensors.TensorSpec(dtype=names[dtype], shape=shape, data_ptr=address, data_len=len(data))
        else:  # before 0.8
            tensors[name] = {"dtype": names[dtype], "shape": shape, "data": data}
    safetensors.serialize_file(tensors, file, {"format": "pt"})


def with_torch(torch, file):
    tensors = {}
    for name, tensor in torch.load(file, weights_only=True).items():
        data = tensor.contiguous().reshape(-1).view(torch.uint8) if tensor.numel() else torch.zeros(0, dtype=torch.uint8)
        dtype = NAMES[str(tensor.dtype).removeprefix("torch.")]
        tensors[name] = [dtype, list(tensor.shape), bytes(data.tolist()).hex()]
    return tensors


def without_torch(file):
    archive = zipfile.ZipFile(file)
    assert archive.testzip() is None
    [pkl] = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    folder = pkl.removesuffix("data.pkl")
    assert archive.read(folder + "byteorder") == b"little" and archive.read(folder + "version") == b"3\n"
    storages = {"FloatStorage": "F32", "BFloat16Storage": "BF16", "HalfStorage": "F16", "DoubleStorage": "F64", "LongStorage": "I64",
                "IntStorage": "I32", "ByteStorage": "U8", "BoolStorage": "BOOL"}

    def tensor(storage, offset, size, stride, requires_grad, hooks, dtype=None):
        row_major, step = [], 1
        for n in reversed(size):
            row_major.insert(0, step)
            step *= max(n, 1)
        assert offset == 0 and not requires_grad and not hooks and tuple(row_major) == stride, (offset, stride)
        return [dtype or storage[0], list(size), storage[1].hex()]

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            if (module, name) == ("collections", "OrderedDict"):
                return collections.OrderedDict
            if module == "torch._utils" and name in ("_rebuild_tensor_v2", "_rebuild_tensor_v3"):
                return tensor
            if module == "torch.storage" and name == "UntypedStorage":
                return "U8"
            assert module == "torch", (module, name)
            return storages.get(name) or NAMES[name]

        def persistent_load(self, id):
            word, dtype, key, device, elements = id
            assert word == "storage" and device == "cpu", id
            data = archive.read(f"{folder}data/{key}")
            return dtype, data

    return Unpickler(archive.open(pkl)).load()


def torch(file):
    try:
        import torch
    except ImportError:
        print("pickle")
        print(json.dumps(without_torch(file)))
    else:
        print("torch")
        print(json.dumps(with_torch(torch, file)))


command, *files = sys.argv[1:]
read(files) if command == "read" else {"write": write, "torch": torch}[command](*files)

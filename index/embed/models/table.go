package models

// A File of a model, as the hub has it at the model's revision.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// A Model is a model that cairn can fetch: its purpose, and its files to the last bit.
type Model struct {
	Name       string `json:"name"`
	Repository string `json:"repository"` // on the hub
	Revision   string `json:"revision"`
	Licence    string `json:"licence"`
	Kind       string `json:"kind"` // static or bert
	Dim        int    `json:"dimensions"`
	For        string `json:"for"`
	Files      []File `json:"files"`

	recipe *recipe // bert
}

// Size returns how many bytes a download fetches.
func (m *Model) Size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Known are the models that Fetch brings. A revision of the hub never changes, and neither do the checksums: several
// independent publications of each agree.
var Known = []Model{
	{
		Name: "potion-base-8M", Repository: "minishlab/potion-base-8M", Revision: "bf8b056651a2c21b8d2565580b8569da283cab23",
		Licence: "MIT", Kind: "static", Dim: 256, For: "English; a table of words, 0.1 ms a text; the smallest",
		Files: []File{
			{"config.json", 202, "2a6ac0e9aaa356a68a5688070db78fc3a464fefe85d2f06a1905ce3718687553"},
			{"tokenizer.json", 683666, "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50"},
			{"model.safetensors", 30236760, "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2"},
		},
	},
	{
		Name: "all-MiniLM-L6-v2", Repository: "sentence-transformers/all-MiniLM-L6-v2",
		Revision: "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
		Licence:  "Apache-2.0", Kind: "bert", Dim: 384, For: "English; the fastest sentence encoder; texts up to 256 tokens",
		Files: []File{
			{"config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
			{"tokenizer.json", 466247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
			{"model.safetensors", 90868376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
		},
		recipe: &recipe{tokens: 256},
	},
	{
		Name: "bge-small-en-v1.5", Repository: "BAAI/bge-small-en-v1.5", Revision: "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
		Licence: "MIT", Kind: "bert", Dim: 384, For: "English; questions and answers; texts up to 512 tokens",
		Files: []File{
			{"config.json", 743, "094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750"},
			{"tokenizer.json", 711396, "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"},
			{"model.safetensors", 133466304, "3c9f31665447c8911517620762200d2245a2518d6e7208acc78cd9db317e21ad"},
		},
		recipe: &recipe{tokens: 512, first: true, question: "Represent this sentence for searching relevant passages: "},
	},
	{
		Name: "e5-small-v2", Repository: "intfloat/e5-small-v2", Revision: "ffb93f3bd4047442299a41ebb6fa998a38507c52",
		Licence: "MIT", Kind: "bert", Dim: 384, For: "English; questions and answers; texts up to 512 tokens",
		Files: []File{
			{"config.json", 615, "5dfb0363cd0243be179c03bcaafd1542d0fbb95e8cbcf575fff3e229342adc2f"},
			{"tokenizer.json", 711396, "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"},
			{"model.safetensors", 133466304, "45bfa60070649aae2244fbc9d508537779b93b6f353c17b0f95ceccb1c5116c1"},
		},
		recipe: &recipe{tokens: 512, question: "query: ", text: "passage: "},
	},
	{
		Name: "multilingual-e5-small", Repository: "intfloat/multilingual-e5-small", Revision: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
		Licence: "MIT", Kind: "bert", Dim: 384,
		For: "about 100 languages; questions and answers; texts up to 512 tokens; [embedding] int8 saves memory",
		Files: []File{
			{"config.json", 655, "69137736cab8b8903a07fe8afaafdda25aac55415a12a55d1bffa9f581abf959"},
			{"tokenizer.json", 17082730, "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"},
			{"model.safetensors", 470641600, "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477"},
		},
		recipe: &recipe{tokens: 512, question: "query: ", text: "passage: "},
	},
}

// Find returns a known model.
func Find(name string) (*Model, bool) {
	for i := range Known {
		if Known[i].Name == name {
			return &Known[i], true
		}
	}
	return nil, false
}

// Names returns the known models' names.
func Names() (names []string) {
	for i := range Known {
		names = append(names, Known[i].Name)
	}
	return names
}

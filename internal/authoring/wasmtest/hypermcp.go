package wasmtest

// Accepted is the answer of the user to question, which the tool of HyperMCP asks.
const (
	Accepted = `{"action":"accept","content":{"name":"Ada"}}`
	question = `{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","title":null}},"required":["name"]},"timeout":60}`
)

// HyperMCP returns a plugin of the MCP host hyper-mcp for version 2 of its interface, with a tool, a prompt, a resource and
// completion. The tool asks the user for a name, and greets Ada if the answer is Accepted, otherwise a stranger.
func HyperMCP() Module {
	give := func(text string) []byte { return Give(0, text) }
	text := func(text string) []byte {
		return give(`{"content":[{"type":"text","text":"` + text + `","annotations":null}]}`)
	}
	return Extism(map[string][]byte{
		"list_tools":              give(`{"tools":[{"name":"greet","title":null,"description":"Greet the user","inputSchema":{"properties":{}},"annotations":{"readOnlyHint":true}}]}`),
		"list_prompts":            give(`{"prompts":[{"name":"letter","description":null}]}`),
		"get_prompt":              give(`{"messages":[{"role":"user","content":{"type":"text","text":"Write a letter"}}]}`),
		"list_resources":          give(`{"resources":[{"uri":"tea:green","name":"Green tea","size":null}]}`),
		"list_resource_templates": give(`{"resourceTemplates":[{"uriTemplate":"tea:{kind}","name":"Teas"}]}`),
		"read_resource":           give(`{"contents":[{"uri":"tea:green","text":"80 °C"}]}`),
		"complete":                give(`{"completion":{"values":["green"],"total":null}}`),
		"call_tool": Code(
			Block(1, `{"progress":0.5,"progressToken":"x"}`), Host("notify_progress", Get(1)),
			Block(1, question), Set(2, Host("create_elicitation", Get(1))),
			Host("length", Get(2)), I64(int64(len(Accepted))), 0x51, 0x04, 0x40, text("Hello, Ada"), 0x05, text("Hello, stranger"), 0x0b),
	})
}

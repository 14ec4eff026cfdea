package change

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
)

// Config is the content of the config file of a project, without invalid values.
type Config struct {
	Schema   string // the name of the default workflow schema; "" if the file does not set it
	Context  string // background information for everybody who works on a change
	Rules    map[string][]string
	Guidance map[string][]string // the guidance for each operation; the key is the name of the operation
}

// maxContext is the maximum size of the context, in bytes. ParseConfig omits a longer context.
const maxContext = 50 << 10

// ParseConfig parses the content of a config file.
func ParseConfig(source string) Config {
	root, err := yamlvalue.Parse(source)
	if err != nil {
		return Config{}
	}
	config := Config{Rules: map[string][]string{}, Guidance: map[string][]string{}}
	if schema := root.Get("schema"); schema.Kind() == yamlvalue.String {
		config.Schema = schema.Text()
	}
	if context := root.Get("context"); context.Kind() == yamlvalue.String && len(context.Text()) <= maxContext {
		config.Context = context.Text()
	}
	for artifact, rules := range root.Get("rules").Pairs() {
		addFilled(config.Rules, artifact, rules)
	}
	for operation, value := range root.Get("operations").Pairs() {
		addFilled(config.Guidance, operation, value.Get("guidance"))
	}
	return config
}

// addFilled adds those strings of a list that are not empty under a key. If all strings are empty, it does not add the
// key.
func addFilled(to map[string][]string, key string, value yamlvalue.Value) {
	list, _ := value.Strings()
	list = slices.DeleteFunc(list, func(text string) bool { return text == "" })
	if len(list) > 0 {
		to[key] = list
	}
}

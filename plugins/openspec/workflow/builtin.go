package workflow

import "embed"

//go:embed builtin
var builtin embed.FS

// parsed is a package variable. It is initialized before the snapshot of the module's memory is taken, so no call has
// to parse the schema.
var parsed = parseBuiltIn()

// BuiltIn returns the schema that every project has.
func BuiltIn() *Schema { return parsed }

func parseBuiltIn() *Schema {
	source, err := builtin.ReadFile("builtin/schema.yaml")
	if err != nil {
		panic(err) // unreachable, because the file is embedded and tested
	}
	schema, err := Parse(string(source))
	if err != nil {
		panic(err) // unreachable, because the schema is embedded and tested
	}
	return schema
}

// BuiltInTemplate returns a template of the built-in schema, and whether the template exists.
func BuiltInTemplate(name string) (content string, found bool) {
	raw, err := builtin.ReadFile("builtin/templates/" + name)
	return string(raw), err == nil
}

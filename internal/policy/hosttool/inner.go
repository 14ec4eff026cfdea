package hosttool

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Members of the arguments of Read and Write.
const (
	innerName = iota
	innerArguments
)

var innerMembers = call.Names("name", "arguments")

// IsCaller reports whether a tool of the host calls the tool that its arguments name.
func IsCaller(name string) bool { return name == Read || name == Write }

// Inner returns the name and the arguments of the call that the arguments of Read or Write contain. The arguments of the inner call are nil if
// absent. The error continues a sentence that begins with the name of the tool.
func Inner(arguments json.RawMessage) (name string, inner json.RawMessage, err error) {
	var members [2][]byte
	unique, unknown := call.Unique{Known: innerMembers}, ""
	for key, value := range rawjson.Members(arguments) {
		if i := unique.Add([]byte(key)); i >= 0 {
			members[i] = value
		} else if unknown == "" && unique.Ambiguous == "" {
			unknown = key
		}
	}
	name, ok := rawjson.Unquote(members[innerName])
	switch kind := rawjson.Kind(members[innerArguments]); {
	case unique.Ambiguous != "":
		err = fmt.Errorf("was called with arguments that are ambiguous: %s", unique.Ambiguous)
	case unknown != "":
		err = fmt.Errorf("has no argument %s: the arguments of the called tool belong into the object arguments", visible.Name(unknown))
	case !ok:
		err = fmt.Errorf("needs the argument name, the name of a tool as a string")
	case members[innerArguments] != nil && kind != '{' && kind != 'n':
		err = fmt.Errorf("was called with arguments that are not an object: write {\"name\": …, \"arguments\": {…}}")
	case kind == '{':
		inner = members[innerArguments]
	}
	return name, inner, err
}

package rawjson_test

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

func ExampleMembers() {
	for key, value := range rawjson.Members([]byte(`{"name": "add", "arguments": {"id": 1.50}}`)) {
		fmt.Printf("%s: %s\n", key, value)
	}
	// Output:
	// name: "add"
	// arguments: {"id": 1.50}
}

func ExampleMarshal() {
	text, err := rawjson.Marshal(map[string]string{"text": "a < b && b > c"})
	fmt.Println(string(text), err)
	// Output: {"text":"a < b && b > c"} <nil>
}

func ExampleScanner() {
	text := []byte(`{"id": 7, "params": {"name": "add"}}`)
	s := rawjson.NewScanner(text)
	var name []byte
	s.Object(func(key []byte) {
		if string(key) == "params" {
			s.Object(func(key []byte) {
				if string(key) == "name" {
					name = s.Value()
				}
			})
		}
	})
	fmt.Println(string(name), s.End())
	// Output: "add" true
}

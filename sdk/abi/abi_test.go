package abi_test

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func ExampleRequest() {
	raw, err := json.Marshal(abi.Request{Method: abi.MethodToolsCall, Deadline: 1700000000000, Params: json.RawMessage(`{"name":"greet"}`)})
	fmt.Println(string(raw), err)
	// Output: {"method":"tools/call","deadline":1700000000000,"params":{"name":"greet"}} <nil>
}

func ExampleResponse() {
	raw, err := json.Marshal(abi.Response{Error: &abi.Error{Code: abi.CodeInvalidParams, Message: "unknown tool"}})
	fmt.Println(string(raw), err)
	// Output: {"error":{"code":-32602,"message":"unknown tool"}} <nil>
}

package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestNamesClaimedByOtherPluginsAreRefused(t *testing.T) {
	s := newServer(t)
	s.Handle(abi.OpClaims, func(json.RawMessage) (any, error) {
		return abi.Claims{Prompts: []string{"proposal"}}, nil
	})
	s.want("create_prompt", `{"name":"proposal","content":"x"}`,
		"Error: Failed to create prompt: 'proposal' belongs to another plugin, so clients would not see it here: choose another name or URI")
	s.Handle(abi.OpClaims, func(json.RawMessage) (any, error) {
		return abi.Claims{Resources: []string{"openspec://specs/a"}}, nil
	})
	s.want("create_resource", `{"name":"a","uri":"openspec://specs/a","content":"x"}`,
		"Error: Failed to create resource: 'openspec://specs/a' belongs to another plugin, so clients would not see it here: choose another name or URI")
	s.want("import_project", `{"content":"{\"format\":\"mcpkg-project\",\"version\":1,\"name\":\"p\",\"prompts\":[{\"name\":\"a\",\"content\":\"x\"}],\"resources\":[]}"}`,
		"Error: Failed to import project: 'openspec://specs/a' belongs to another plugin, so clients would not see it here: choose another name or URI")
	if got := s.answer("prompts/list", "{}"); got != `{"prompts":[]}` {
		t.Errorf("the refused call stored an item: %s", got)
	}
}

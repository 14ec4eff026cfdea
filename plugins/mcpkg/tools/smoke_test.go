package tools_test

import "testing"

func TestSmoke(t *testing.T) {
	s := newServer(t)
	s.want("create_prompt", `{"name":"test-prompt","content":"x"}`, "Created prompt 'test-prompt' in project 'auth-module'")
	s.wantAnswer("prompts/list", "{}", `{"prompts":[{"name":"test-prompt"}]}`)
}

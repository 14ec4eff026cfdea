package main

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

func TestInvite(t *testing.T) {
	for _, c := range []struct{ name, guest, text, want string }{
		{"accepted", `{"action":"accept","content":{"name":"Ada","tone":"formal"}}`, `{"role":"assistant","model":"m","content":{"type":"text","text":"Come!"}}`, "Come!"},
		{"declined", `{"action":"decline"}`, "", "No guest is invited."},
		{"sampling rejected", `{"action":"accept","content":{"name":"Ada"}}`, `{"error":{"code":-1,"message":"rejected"}}`, "Dear Ada, you are invited: tea."},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := sdktest.New(t, plugin(), "plugin.toml")
			host.Answer("guest", c.guest)
			if c.text != "" {
				host.Answer("text", c.text)
			}
			result, err := host.CallTool("ask_invite", `{"occasion":"tea"}`)
			if err != nil {
				t.Fatal(err)
			}
			if got := result.Text(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

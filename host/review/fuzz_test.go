package review_test

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/review"
)

// Whatever a manifest asks for, what a yes writes is a config that the host takes and that grants no more than
// the words say; and no manifest differs from itself.
func FuzzAsk(f *testing.F) {
	const head = "manifest = 1\n[plugin]\nname = \"n\"\nversion = \"1.0.0\"\ndescription = \"x\"\n[module]\nfile = \"m\"\n"
	f.Add([]byte(head+"[capabilities]\nenv = [\"A\", \"*\"]\nhttp = [\"https://a\", \"http://[::1]\", \"*\"]\n"+
		"git = [{ repo = \"*\", access = \"rw\", remotes = [\"*\"] }, { repo = \"${cwd}\", access = \"r\", remotes = [\"https://h/r\", \"*\"] }]\n"+
		"fs = [{ path = \"${home}\", access = \"r\" }, { path = \"/a//b/\", access = \"rw\", why = \"\\u001b\" }, { path = \"/a/b\", access = \"r\" }]\n"), false)
	f.Add([]byte(head+"[limits]\nmemory = \"1GiB\"\nfuel = 1\nqueue = \"24h\"\n[offers]\nprompts = [\"p\"]\nresources = true\n"+aTool), true)
	f.Fuzz(func(t *testing.T, data []byte, readOnly bool) {
		m, problems := manifest.Parse("/plugins/n/plugin.toml", data)
		if problems.Err() != nil {
			return
		}
		if changes := review.Compare(m, m); len(changes) > 0 {
			t.Errorf("it differs from itself: %+v", changes)
		}
		_, entry := review.Ask(m, review.Choice{Path: "n", ReadOnly: readOnly}, config.Defaults{}, places, nil)
		content, err := config.AddPlugin("/plugins/bulkhead.toml", nil, entry)
		if err != nil {
			t.Fatal(err)
		}
		c, problems := config.Parse("/plugins/bulkhead.toml", content)
		if problems.Err() != nil {
			t.Fatal(problems)
		}
		grant, problems := config.Decide(m, c.Plugins[0], c.Defaults, places, config.Flags{})
		if problems.Err() != nil {
			t.Fatalf("%v\n%s", problems, content)
		}
		for _, mount := range grant.FS {
			if !mount.State && (places.Broad(mount.Path) || readOnly && mount.Access != manifest.Read) {
				t.Errorf("a yes grants %+v", mount)
			}
		}
		for _, h := range grant.HTTP {
			if h.Private || h.Credential != nil {
				t.Errorf("a yes grants %+v", h)
			}
		}
		review.Effective(review.Subject{Manifest: m, Entry: c.Plugins[0], Grant: grant, Places: places, Config: c.File})
	})
}

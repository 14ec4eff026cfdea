package review_test

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// FuzzAsk checks that the entry that Ask returns is a valid config, and that it never grants broad directories, private origins or
// credentials. It also checks that a manifest does not differ from itself.
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
			t.Errorf("the manifest differs from itself: %+v", changes)
		}
		_, entry := review.Ask(m, review.Choice{Path: "n", ReadOnly: readOnly}, config.Defaults{}, places, nil)
		empty, _ := config.Parse("/plugins/bulkhead.toml", nil)
		added, err := empty.AddPlugin(entry)
		if err != nil {
			t.Fatal(err)
		}
		content := added.Content()
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
				t.Errorf("consent grants %+v", mount)
			}
		}
		for _, h := range grant.HTTP {
			if h.Private || h.Credential != nil {
				t.Errorf("consent grants %+v", h)
			}
		}
		review.Effective(review.Subject{Manifest: m, Entry: c.Plugins[0], Grant: grant, Places: places, Config: c.File})
	})
}

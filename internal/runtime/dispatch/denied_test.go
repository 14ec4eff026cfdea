package dispatch_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// A refusal names the side that has to change: the manifest, or the config if the manifest asks for the grant.
func TestDeniedOperationNamesMissingGrant(t *testing.T) {
	const (
		fetch  = `{"op":"http/fetch","params":{"url":"https://a.example/"}}`
		branch = `{"op":"git/current_branch","params":{"repo":"/nowhere"}}`
		refs   = `{"op":"git/list_remote","params":{"url":"https://a.example/r"}}`
	)
	for name, c := range map[string]struct{ request, capabilities, want string }{
		"a web server":                   {fetch, "", "its manifest must ask for an origin"},
		"a web server that is asked for": {fetch, "[capabilities]\nhttp = ['https://a.example']\n", "although its manifest asks for one: the config must grant the origin"},
		"a repository":                   {branch, "", "its manifest must ask for one under [capabilities] git"},
		"a repository that is asked for": {branch, "[[capabilities.git]]\nrepo = '${project}'\naccess = 'r'\n", "although its manifest asks for one: the config must grant it"},
		"a remote":                       {refs, "", "its manifest must ask for remotes"},
		"a remote that is not granted":   {refs, "[[capabilities.git]]\nrepo = '${project}'\naccess = 'r'\nremotes = ['https://a.example/r']\n", "although its manifest asks for one: the config must grant it with remotes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("it", wasmtest.Operating(c.request, hosttest.Done), c.capabilities+hosttest.Reads("it_reads")),
				hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/it'\nhttp = []\ngit = []\n"})
			hosttest.Call(t, w.Open(t, w.Options()), "it_reads", "")
			found := ""
			for line := range strings.Lines(w.Log.String()) {
				if strings.Contains(line, "denied: ") {
					found += line
				}
			}
			if !strings.Contains(found, c.want) {
				t.Errorf("the log has %q, want %q", found, c.want)
			}
		})
	}
}

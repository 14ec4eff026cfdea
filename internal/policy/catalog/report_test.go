package catalog_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

// The config grants each plugin a directory that it does not request, which is a warning or an error. A prompt and a prefix of resources belong to the plugin that claims them, also if it is left out.
func TestReportWarnsAboutRequestedPluginAndCountsOthers(t *testing.T) {
	for requested, about := range map[string]string{"": "abc", "a_reads": "a", "greet": "b", "note://x": "c", "nothing": ""} {
		w := hosttest.New(t,
			hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")),
			hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), "[offers]\nprompts = [\"greet\"]\n"),
			hosttest.Plugin("c", wasmtest.Answering(hosttest.Done), "[offers]\nresources = [\"note://\"]\n"),
			hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = \"../plugins/a\"\nfs = [{ path = \"/a\", access = \"r\" }]\n" +
				"[[plugins]]\npath = \"../plugins/b\"\nfs = [{ path = \"/b\", access = \"r\" }]\n[[plugins]]\npath = \"../plugins/c\"\nfs = [{ path = \"/c\", access = \"r\" }]\n"})
		var log bytes.Buffer
		o := w.Options()
		o.Log, o.Requested = hclog.New(&hclog.LoggerOptions{Name: "log", Output: &log}), requested
		if _, err := catalog.Look(o); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c"} {
			if want := strings.Contains(about, name); strings.Contains(log.String(), "log."+name+":") != want {
				t.Errorf("request of %q: want a line about %s: %t; the log is\n%s", requested, name, want, log.String())
			}
		}
		counted := strings.Count(log.String(), "there are problems of other plugins: `bulkhead doctor` shows them")
		if want := min(1, 3-len(about)); counted != want {
			t.Errorf("request of %q: want %d counts of other problems; the log is\n%s", requested, want, log.String())
		}
	}
}

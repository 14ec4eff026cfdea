package catalog_test

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

func TestLookCreatesNoFiles(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")+hosttest.Writes("a_writes")),
		hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = \"${env:HOME}/log\"\n[[plugins]]\npath = \"../plugins/a\"\nread_only = true\n"})
	v, err := catalog.Look(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	s := v.Plugins[0]
	if s.Name != "a" || len(s.Grant.Tools) != 1 || len(s.Grant.Withheld) != 1 || v.Config != w.Dir+"/work/bulkhead.toml" || v.CacheDir != w.Dir+"/cache/bulkhead" {
		t.Errorf("Look returned %+v, want the plugin a with one granted and one withheld tool", v)
	}
	for _, made := range []string{"cache", "state", "home/log"} {
		if _, err := os.Lstat(w.Dir + "/" + made); err == nil {
			t.Errorf("%s was made", made)
		}
	}
}

func TestLookAsDoesNotReadConfigFile(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_reads")),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = \"../plugins/a\"\n"})
	v, err := catalog.LookAs(w.Options(), []byte("[[plugins]]\npath = \"../plugins/b\"\n"))
	if err != nil || len(v.Plugins) != 1 || v.Plugins[0].Name != "b" {
		t.Errorf("LookAs returned %+v, %v; want the plugin b", v, err)
	}
	_, err = catalog.LookAs(w.Options(), nil)
	hosttest.WantUsage(t, err, "names no plugin")
}

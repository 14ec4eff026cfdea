package catalog_test

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
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
		t.Errorf("%+v", v)
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
		t.Errorf("%+v, %v", v, err)
	}
	_, err = catalog.LookAs(w.Options(), nil)
	hosttest.WantUsage(t, err, "names no plugin")
}

func TestLookReportsProblemsThatPreventStart(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("one")), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("one")))
	v, err := catalog.Look(w.Options())
	hosttest.WantUsage(t, err, "both offer the tool one")
	if v == nil || len(v.Plugins) != 2 {
		t.Errorf("%+v", v)
	}
}

func TestOpenRefusesTwoPluginsWithOneTool(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("same")+hosttest.Reads("other")), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("same")))
	_, err := host.Open(w.Options())
	hosttest.WantUsage(t, err, `plugins "a" (`+w.Dir+`/plugins/a) and "b" (`+w.Dir+`/plugins/b) both offer the tool same`, "deny_tools in bulkhead.toml")
	t.Run("unless it is denied to one", func(t *testing.T) {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\ndeny_tools = ['same']\n[[plugins]]\npath = '../plugins/b'\n"})
		c, err := catalog.Look(w.Options())
		if err != nil {
			t.Fatal(err)
		}
		if same := c.Tool("same"); same == nil || same.Plugin.Name != "b" {
			t.Errorf("got %+v", same)
		}
	})
}

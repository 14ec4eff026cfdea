package host

import (
	"os"
	"testing"
)

func TestLookingMakesNothing(t *testing.T) {
	w := newWorld(t, handmade("a", answering(done), reads("a_reads")+writes("a_writes")),
		files{"work/bulkhead.toml": "[audit]\nfile = \"${env:HOME}/log\"\n[[plugins]]\npath = \"../plugins/a\"\nread_only = true\n"})
	v, err := Look(w.options())
	if err != nil {
		t.Fatal(err)
	}
	s := v.Plugins[0]
	if s.Name != "a" || len(s.Grant.Tools) != 1 || len(s.Grant.Withheld) != 1 || v.Config != w.dir+"/work/bulkhead.toml" || v.CacheDir != w.dir+"/cache/bulkhead" {
		t.Errorf("%+v", v)
	}
	for _, made := range []string{"cache", "state", "home/log"} {
		if _, err := os.Lstat(w.dir + "/" + made); err == nil {
			t.Errorf("%s was made", made)
		}
	}
}

func TestLookingAtContentDoesNotReadTheFile(t *testing.T) {
	w := newWorld(t, handmade("a", answering(done), reads("a_reads")), handmade("b", answering(done), reads("b_reads")),
		files{"work/bulkhead.toml": "[[plugins]]\npath = \"../plugins/a\"\n"})
	v, err := LookAt(w.options(), []byte("[[plugins]]\npath = \"../plugins/b\"\n"))
	if err != nil || len(v.Plugins) != 1 || v.Plugins[0].Name != "b" {
		t.Errorf("%+v, %v", v, err)
	}
	_, err = LookAt(w.options(), nil)
	wantUsage(t, err, "names no plugin")
}

func TestLookingSaysWhatKeepsAHostFromStarting(t *testing.T) {
	w := newWorld(t, handmade("a", answering(done), reads("one")), handmade("b", answering(done), reads("one")))
	v, err := Look(w.options())
	wantUsage(t, err, "both offer the tool one")
	if v == nil || len(v.Plugins) != 2 {
		t.Errorf("%+v", v)
	}
}

func TestLookingSaysWhatTheServerCannotBe(t *testing.T) {
	w := newWorld(t, handmade("a", answering(done), "[server]\nprotocol_versions = ['1999-01-01']\n"+reads("a_reads")))
	v, err := Look(w.options())
	wantUsage(t, err, `server: protocol version "1999-01-01" is not one of`)
	if v == nil {
		t.Error("there is no view")
	}
}

package discovery

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestInstallationTellsHowThisProgramGetsPlugins(t *testing.T) {
	const archive = "unpack a release archive"
	for name, c := range map[string]struct {
		info   *debug.BuildInfo
		beside string
		want   []string
	}{
		"no build information": {nil, "/p/plugins", []string{archive}},
		"built in a checkout":  {&debug.BuildInfo{Main: debug.Module{Path: "example.com/m", Version: "v1.2.3"}}, "/p/plugins", []string{archive, "-o /p/plugins plugins/*`"}},
		"installed by version": {&debug.BuildInfo{Main: debug.Module{Path: "example.com/m", Version: "v1.2.3", Sum: "h1:x"}}, "/p/plugins",
			[]string{"`go install`", "`bulkhead plugin build -o /p/plugins \"$(go env GOMODCACHE)\"/example.com/m@v1.2.3/plugins/*`"}},
		"a path with a space":   {nil, "/p q/plugins", []string{"-o '/p q/plugins' "}},
		"a path with an escape": {nil, "/p\x1b/plugins", []string{"-o DIR "}},
	} {
		t.Run(name, func(t *testing.T) {
			got := installationOf(c.info, c.beside)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("got %q, want %q in it", got, want)
				}
			}
		})
	}
}

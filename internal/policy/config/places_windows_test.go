package config

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestPathsOfWindowsResolve(t *testing.T) {
	places := Places{Project: `C:\Users\me\app`, Home: `C:\Users\me`, State: `C:\Users\me\AppData\Local\bulkhead`}
	for text, want := range map[string]string{
		"${project}": `C:\Users\me\app`, "${project}/src/x": `C:\Users\me\app\src\x`, `${home}\x`: `C:\Users\me\x`,
		"${state}": `C:\Users\me\AppData\Local\bulkhead\p`, `D:\data`: `D:\data`, "D:/data/": `D:\data`, `D:\`: `D:\`,
	} {
		if got, missing := places.Resolve(text, "p"); got != want || missing != "" {
			t.Errorf("%s is %q (%s), want %s", text, got, missing, want)
		}
	}
	for _, text := range []string{`\data`, "/data", "D:", "D:data", `\\server\share\x`, `\\?\C:\x`, `C:\a\..\b`, `${home}\..\x`, "data", ""} {
		if err := manifest.CheckPath(text); err == nil {
			t.Errorf("%q was accepted as a path", text)
		}
	}
	for dir, want := range map[string]bool{`C:\`: true, `D:\`: true, `C:\Users`: true, `C:\Users\me`: true, `c:\users\ME`: true, `C:\Users\me\app`: false, `C:\Users\melissa`: false} {
		if got := places.Broad(dir); got != want {
			t.Errorf("Broad(%s) is %v", dir, got)
		}
	}
}

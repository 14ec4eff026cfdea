package build_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func TestBuildCompilesGoPlugin(t *testing.T) {
	testenv.NotShort(t, "starts the go command")
	const source = "testdata/greeter"
	out, cache := t.TempDir(), t.TempDir()
	var shown strings.Builder
	result, err := build.Build(t.Context(), source, build.Options{Out: out, CacheDir: cache, Progress: progress.New(&shown, nil)})
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, out)
	wasm := got["greeter/lib/greeter.wasm"]

	t.Run("the result describes the plugin", func(t *testing.T) {
		want := build.Result{Name: "greeter", Dir: filepath.Join(out, "greeter"), Module: filepath.Join(out, "greeter/lib/greeter.wasm"),
			SHA256: sum(wasm), Size: int64(len(wasm)), Took: result.Took}
		if diff := cmp.Diff(want, result); diff != "" || result.Took <= 0 {
			t.Error(result.Took, diff)
		}
	})
	t.Run("the output has only the module, the manifest and the texts", func(t *testing.T) {
		manifest := read(t, source)["plugin.toml"]
		want := files{
			"greeter": "/", "greeter/lib": "/", "greeter/lib/greeter.wasm": wasm, "greeter/README.md": "# Greeter\n",
			"greeter/plugin.toml": strings.Replace(manifest, "greeter.wasm\"\n", "greeter.wasm\"\nsha256 = \""+sum(wasm)+"\"\n", 1),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the module keeps its name section", func(t *testing.T) {
		if !strings.Contains(wasm, "main.greet") {
			t.Error("the module has no names")
		}
	})
	t.Run("each step is reported", func(t *testing.T) {
		lines := strings.Split(shown.String(), "\n")
		want := []string{"greeter: compiling testdata/greeter", "greeter: checking its handlers"}
		if len(lines) != 4 || !slices.Equal(lines[:2], want) || !strings.HasSuffix(lines[2], "→ "+result.Dir) {
			t.Errorf("the progress is %q", lines)
		}
	})
	t.Run("the cache contains the compiled module", func(t *testing.T) {
		if found, _ := filepath.Glob(filepath.Join(cache, "module-*", "wazero-*", "*")); len(found) != 1 {
			t.Errorf("the cache contains %q, want one file", found)
		}
	})
	t.Run("Check finds no problems", func(t *testing.T) {
		if ps := build.Check(t.Context(), result.Dir, build.Options{CacheDir: cache}); len(ps) > 0 {
			t.Error(ps)
		}
	})
}

func TestBuildOutput(t *testing.T) {
	wasm := string(answering(handlesOne))
	built := files{"hand": "/", "hand/hand.wasm": wasm, "hand/plugin.toml": head + "sha256 = \"" + sum(wasm) + "\"\n" + tools("one")}
	command := func(script string) files {
		return files{"plugin.toml": head + "[build]\ncommand = ['sh', '-c', '" + script + "']\n" + tools("one")}
	}
	builtBy := func(script string) files {
		return built.with(files{"hand/plugin.toml": strings.Replace(built["hand/plugin.toml"], "[[tools]]",
			"[build]\ncommand = ['sh', '-c', '"+script+"']\n[[tools]]", 1)})
	}
	for name, c := range map[string]struct{ source, before, want files }{
		"a prebuilt module":                      {good(), nil, built},
		"a prebuilt module with its digest":      {files{"plugin.toml": built["hand/plugin.toml"], "hand.wasm": wasm}, nil, built},
		"a command, which runs in the directory": {command("cp made hand.wasm").with(files{"made": wasm}), nil, builtBy("cp made hand.wasm")},
		"a command with an outdated digest":      {builtBy("cp made hand.wasm").inner("hand").with(files{"made": wasm, "hand.wasm": "old"}), nil, builtBy("cp made hand.wasm")},
		"a readme and licences": {good().with(files{"README.md": "r", "LICENSE": "l", "LICENSE.txt": "t", "NOTES.md": "n"}), nil,
			built.with(files{"hand/README.md": "r", "hand/LICENSE": "l", "hand/LICENSE.txt": "t"})},
		"an older plugin is removed":              {good(), built.with(files{"hand/LICENSE": "l", "hand/hand.wasm": "old"}), built},
		"an older plugin with a different module": {good(), built.with(files{"hand/plugin.toml": strings.Replace(built["hand/plugin.toml"], "hand.wasm", "lib/a.wasm", 1), "hand/hand.wasm": "", "hand/lib/a.wasm": "x"}), built},
		"siblings are kept":                       {good(), files{"other/main.go": "m", "hand2/x": "x"}, built.with(files{"other": "/", "other/main.go": "m", "hand2": "/", "hand2/x": "x"})},
	} {
		t.Run(name, func(t *testing.T) {
			out := c.before.write(t, t.TempDir())
			if _, err := build.Build(t.Context(), c.source.write(t, t.TempDir()), build.Options{Out: out}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, read(t, out)); diff != "" {
				t.Error(diff)
			}
			if ps := build.Check(t.Context(), filepath.Join(out, "hand"), build.Options{}); len(ps) > 0 {
				t.Error(ps)
			}
		})
	}
}

// inner returns the files of a directory in f.
func (f files) inner(dir string) files {
	out := files{}
	for name, content := range f {
		if name, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[name] = content
		}
	}
	return out
}

func TestFailedBuildReportsProblemsAndKeepsOldOutput(t *testing.T) {
	out := t.TempDir()
	if _, err := build.Build(t.Context(), good().write(t, t.TempDir()), build.Options{Out: out}); err != nil {
		t.Fatal(err)
	}
	before := read(t, out)
	command := func(array string) files {
		return files{"plugin.toml": head + "[build]\ncommand = " + array + "\n" + tools("one")}
	}
	goBuild := files{"plugin.toml": head + "[build]\ngo = 'cmd'\n" + tools("one"), "go.mod": "module example.com/hand\n\ngo 1.26.0\n"}
	for name, c := range map[string]struct {
		source files
		want   []string
	}{
		"Go code that does not compile": {goBuild.with(files{"cmd/main.go": "package main\n\nfunc main() { nowhere() }\n"}),
			[]string{"plugin.toml:9 build.go: go build ./cmd: exit status 1:\n  # example.com/hand/cmd\n  cmd/main.go:3:15: undefined: nowhere"}},
		"a Go package that is not main": {goBuild.with(files{"cmd/lib.go": "package lib\n"}),
			[]string{"plugin.toml:9 build.go: go build ./cmd: "}},
		"a missing Go package": {goBuild, []string{"plugin.toml:9 build.go: go build ./cmd: exit status 1:\n  "}},
		"a command that fails": {command(`['sh', '-c', 'echo the reason; exit 7']`),
			[]string{"plugin.toml:9 build.command: \"sh -c echo the reason; exit 7\": exit status 7:\n  the reason"}},
		"a command that fails without output": {command(`['false']`), []string{"plugin.toml:9 build.command: \"false\": exit status 1, and it printed nothing"}},
		"a command that does not exist":       {command(`['no-such-program']`), []string{`plugin.toml:9 build.command: "no-such-program": exec: `}},
		"a command that writes no module":     {command(`['true']`), []string{"plugin.toml:7 module.file: there is no module at "}},
		"no module and no [build]":            {good().with(files{"hand.wasm": ""}), []string{"plugin.toml:7 module.file: there is no module at "}},
		"a file that is not a module":         {good().with(files{"hand.wasm": "text"}), []string{"plugin.toml:7 module.file: asked for its handlers, the plugin cannot run hand.wasm: "}},
		"a module that crashes":               {good().with(files{"hand.wasm": string(crashing())}), []string{"plugin.toml:7 module.file: asked for its handlers, the plugin crashed: "}},
		"a module with a different digest":    {good().with(files{"plugin.toml": head + "sha256 = '" + sum("other") + "'\n" + tools("one")}), []string{"plugin.toml:8 module.sha256: asked for its handlers, the plugin cannot run: hand.wasm has the SHA-256 "}},
		"a module with the manifest's name":   {good().with(files{"plugin.toml": strings.Replace(head, "hand.wasm", "plugin.toml", 1) + tools("one")}), []string{"plugin.toml:7 module.file: is the name of the manifest"}},
		"a readme of more than a mebibyte":    {good().with(files{"README.md": strings.Repeat("a", 1<<20+1)}), []string{"README.md:0 : is larger than the limit of 1024 KiB"}},
		"a manifest with several problems":    {good().with(files{"plugin.toml": head + "[offer]\n[[tools]]\nname = 'a b'\ndescription = 'd'\naccess = 'read'\n[tools.input]\ntype = 'object'\nproperties.x.type = 'text'\n"}), []string{"plugin.toml:8 offer: ", "plugin.toml:10 tools[0].name: ", "plugin.toml:9 tools[0].input: "}},
		"no manifest":                         {files{"x": "x"}, []string{"plugin.toml:0 : there is no such file"}},
		"a manifest and a module that differ": {good().with(files{"plugin.toml": head + tools("one", "two")}), []string{`plugin.toml:13 tools[1].name: the module has no handler for "two"`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := c.source.write(t, t.TempDir())
			result, err := build.Build(t.Context(), dir, build.Options{Out: out})
			if diff := cmp.Diff(build.Result{}, result); diff != "" {
				t.Error(diff)
			}
			ps := problems(t, err)
			wantProblems(t, ps, c.want...)
			for _, p := range ps {
				if filepath.Dir(p.File) != dir {
					t.Errorf("the problem is in %s, and not in %s", p.File, dir)
				}
				if strings.Contains(p.String(), ".staged-") {
					t.Errorf("names the staging directory: %v", p)
				}
			}
			if diff := cmp.Diff(before, read(t, out)); diff != "" {
				t.Error("the output changed", diff)
			}
		})
	}
}

func TestBuildRefusesModule(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"that is a FIFO":                {mkfifo, "it is not a regular file"},
		"that is outside the directory": {func(path string) error { return os.Symlink("/etc/hostname", path) }, "path escapes from parent"},
		"of more than 64 MiB":           {func(path string) error { return sparse(path, 64<<20+1) }, "larger than the 64 MiB that a host runs"},
		"that is a directory":           {func(path string) error { return os.Mkdir(path, 0o755) }, "it is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			out, dir := t.TempDir(), good().with(files{"hand.wasm": ""}).write(t, t.TempDir())
			if err := c.make(filepath.Join(dir, "hand.wasm")); err != nil {
				t.Fatal(err)
			}
			_, err := build.Build(t.Context(), dir, build.Options{Out: out})
			if ps := problems(t, err); len(ps) != 1 || ps[0].Key != "module.file" || !strings.Contains(ps[0].What, c.want) {
				t.Errorf("got the problems %v", ps)
			}
			if left := read(t, out); len(left) > 0 {
				t.Errorf("the output directory contains %v, want nothing", left)
			}
		})
	}
}

func TestBuildWithoutGoHasRemedy(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := build.Build(t.Context(), "testdata/greeter", build.Options{Out: t.TempDir()})
	ps := problems(t, err)
	wantProblems(t, ps, "plugin.toml:12 build.go: needs the go tool: ")
	if !strings.Contains(ps[0].Remedy, "https://go.dev/dl") {
		t.Errorf("got the remedy %q", ps[0].Remedy)
	}
}

// TestBuildRunsGoTool replaces the go tool by a script that prints its arguments and environment.
func TestBuildRunsGoTool(t *testing.T) {
	bin := t.TempDir()
	const script = `#!/bin/sh
echo "$GOOS $GOARCH $CGO_ENABLED $GOTMPDIR $PWD $*"
exit 1
`
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("GOOS", "plan9")
	dir := files{"plugin.toml": head + "[build]\ngo = 'cmd'\n" + tools("one")}.write(t, t.TempDir())
	out := t.TempDir()
	_, err := build.Build(t.Context(), dir, build.Options{Out: out})
	what := problems(t, err)[0].What
	stage := regexp.QuoteMeta(filepath.Join(out, ".hand.staged-")) + "[0-9]+"
	want := "\n  wasip1 wasm 0 " + stage + "/tmp " + regexp.QuoteMeta(dir) + " build -trimpath -buildvcs=false -buildmode=c-shared -o " + stage + `/made.wasm \./cmd$`
	if !regexp.MustCompile(want).MatchString(what) {
		t.Errorf("got %s\nwant %s", what, want)
	}
}

func TestAllRefusesDirectoryThatIsGivenTwice(t *testing.T) {
	dir := good().write(t, t.TempDir())
	out := t.TempDir()
	_, err := build.All(t.Context(), []string{dir, dir + "/."}, build.Options{Out: out})
	if ps := problems(t, err); len(ps) != 1 || ps[0].File != dir+"/." || ps[0].What != "is given twice" {
		t.Errorf("got the problems %v", ps)
	}
	if left := read(t, out); len(left) > 0 {
		t.Errorf("the output directory contains %v, want nothing", left)
	}
}

func TestAllRefusesDuplicateNames(t *testing.T) {
	a, b, out := good().write(t, t.TempDir()), good().write(t, t.TempDir()), t.TempDir()
	results, err := build.All(t.Context(), []string{a, b}, build.Options{Out: out})
	ps := problems(t, err)
	wantProblems(t, ps, fmt.Sprintf(`plugin.toml:3 plugin.name: "hand" is also the name of the plugin in %s`, a))
	if filepath.Dir(ps[0].File) != b || len(results) > 0 || len(read(t, out)) > 0 {
		t.Errorf("got the problems %v, the results %v and the files %v", ps, results, read(t, out))
	}
}

func TestAllContinuesAfterFailure(t *testing.T) {
	named := func(name string) files {
		return good().with(files{"plugin.toml": strings.Replace(head, `"hand"`, `"`+name+`"`, 1) + tools("one")})
	}
	broken := named("broken").with(files{"hand.wasm": "text"}).write(t, t.TempDir())
	empty := t.TempDir()
	dirs := []string{named("one").write(t, t.TempDir()), broken, empty, named("two").write(t, t.TempDir())}
	var shown strings.Builder
	results, err := build.All(t.Context(), dirs, build.Options{Out: t.TempDir(), Progress: progress.New(&shown, nil)})
	for _, want := range []string{"\nbroken: failed\n", empty + ": failed\n", "one: 0.0 MB", "two: 0.0 MB"} {
		if !strings.Contains("\n"+shown.String(), want) {
			t.Errorf("progress does not show %q:\n%s", want, shown.String())
		}
	}
	if len(results) != 2 || results[0].Name != "one" || results[1].Name != "two" {
		t.Errorf("got the results %+v, want one and two", results)
	}
	for _, want := range []string{broken + ": not built:\n" + broken + "/plugin.toml:7: module.file: ", empty + ": not built:\n" + empty + "/plugin.toml: there is no such file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestAllBuildsWhatBuildBuilds checks that plugins that All builds concurrently have the same bytes as plugins that Build builds.
func TestAllBuildsWhatBuildBuilds(t *testing.T) {
	testenv.All(t, "starts the go command")
	dirs := []string{"testdata/greeter"}
	for i := range 6 {
		name := fmt.Sprintf("hand%d", i)
		script := "cp made hand.wasm; cp made " + name
		dirs = append(dirs, files{
			"plugin.toml": strings.Replace(head, `"hand"`, `"`+name+`"`, 1) + "[build]\ncommand = ['sh', '-c', '" + script + "']\n" + tools("one"),
			"made":        string(answering(handlesOne)),
		}.write(t, t.TempDir()))
	}
	together, alone, cache := t.TempDir(), t.TempDir(), t.TempDir()
	if _, err := build.All(t.Context(), dirs, build.Options{Out: together, CacheDir: cache}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if _, err := build.Build(t.Context(), dir, build.Options{Out: alone, CacheDir: cache}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, alone), read(t, together)); diff != "" {
		t.Errorf("(-alone +together)\n%s", diff)
	}
}

// The command of the second plugin does not end before Built is called for the first one.
func TestAllReportsPluginWhileOthersAreBuilt(t *testing.T) {
	first := filepath.Join(t.TempDir(), "first")
	var dirs []string
	for _, plugin := range []struct{ name, script string }{{"one", "cp made hand.wasm"}, {"two", "until [ -e " + first + " ]; do sleep 0.1; done; cp made hand.wasm"}} {
		dirs = append(dirs, files{
			"plugin.toml": strings.Replace(head, `"hand"`, `"`+plugin.name+`"`, 1) + "[build]\ncommand = ['sh', '-c', '" + plugin.script + "']\n" + tools("one"),
			"made":        string(answering(handlesOne)),
		}.write(t, t.TempDir()))
	}
	built := func(i int) {
		if i == 0 {
			if err := os.WriteFile(first, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := build.All(t.Context(), dirs, build.Options{Out: t.TempDir(), Built: built, CommandTime: 5 * time.Minute}); err != nil {
		t.Fatal(err)
	}
}

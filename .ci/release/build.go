package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	mainModule  = "github.com/bulkhead-mcp/bulkhead"
	mainPackage = mainModule + "/cmd/bulkhead"
)

// texts are the files and directories of the checkout that each archive contains. Their links must resolve in it.
var texts = []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "docs", "examples", "sdk"}

// noticesFile is the name of the file with the licences of linked modules.
const noticesFile = "THIRD-PARTY-NOTICES"

// notesFile is the name of the file with the changelog's section of the version.
const notesFile = "RELEASE-NOTES.md"

// sumsFile is the name of files with digests, which sha256sum -c reads.
const sumsFile = "SHA256SUMS"

// tree returns the directory with the content of a platform's archive.
func (r *release) tree(p platform) string {
	return filepath.Join(r.stage, p.os+"_"+p.arch, "bulkhead")
}

// common returns the directory with what is the same on all platforms.
func (r *release) common() string { return filepath.Join(r.stage, "common") }

// nativePlatform is that of this machine.
var nativePlatform = platform{runtime.GOOS, runtime.GOARCH}

// nativeProgram returns the path of the program for this machine, which builds the plugins.
func (r *release) nativeProgram() string {
	return filepath.Join(r.stage, "native", nativePlatform.exe())
}

// buildAll builds the program for each platform, builds the plugins once with the program for this machine, and
// assembles the tree of each platform.
func (r *release) buildAll(ctx context.Context) error {
	native, program, common := nativePlatform, r.nativeProgram(), r.common()
	if err := r.buildProgram(ctx, native, program); err != nil {
		return err
	}
	if err := r.buildCommon(ctx, program, common); err != nil {
		return err
	}
	for _, p := range r.platforms {
		if err := os.CopyFS(r.tree(p), os.DirFS(common)); err != nil {
			return err
		}
		file := filepath.Join(r.tree(p), p.exe())
		if p == native {
			if err := copyFileTo(program, file); err != nil {
				return err
			}
		} else if err := r.buildProgram(ctx, p, file); err != nil {
			return err
		}
		if err := r.writeNotices(ctx, r.tree(p), p); err != nil {
			return err
		}
		if err := normalize(r.tree(p), r.date); err != nil {
			return err
		}
	}
	return nil
}

// buildProgram compiles the program. Neither the directory nor the state of the checkout influences the result: the
// version is passed to the linker, since the go command knows it only in a clone with tags.
func (r *release) buildProgram(ctx context.Context, p platform, file string) error {
	progress("compiling the program for %s", p)
	flags := fmt.Sprintf("-s -w -X main.releaseVersion=%s -X main.releaseCommit=%s -X main.releaseDate=%s",
		r.version, r.commit, r.date.Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", file, mainPackage)
	cmd.Dir = r.root
	cmd.Env = append(buildEnv(), "GOOS="+p.os, "GOARCH="+p.arch)
	return runQuietly(cmd)
}

// rustVersion is the version of Rust that compiles the plugin ripgrep. It is also in .ci/toolchains.
const rustVersion = "1.95.0"

// buildEnv returns the environment of builds. It sets what changes the compiled code. $RELEASE_GOCACHE is their build cache. Tool chains of
// other languages than Go are those of .ci/toolchains, if they are set up, and those in PATH.
func buildEnv() []string {
	env := append(os.Environ(), "BULKHEAD_CC=zig", "RUSTUP_TOOLCHAIN="+rustVersion, "RUSTUP_AUTO_INSTALL=0")
	path := os.Getenv("PATH")
	cache, err := os.UserCacheDir()
	if dir := cmp.Or(os.Getenv("BULKHEAD_TOOLCHAINS"), filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"), cache), "bulkhead-toolchains")); err == nil {
		if rustup := filepath.Join(dir, "rustup"); isDir(rustup) {
			env = append(env, "RUSTUP_HOME="+rustup)
			path = filepath.Join(dir, "cargo", "bin") + string(filepath.ListSeparator) + path
		}
		path = filepath.Join(dir, "bin") + string(filepath.ListSeparator) + path
	}
	env = append(env, "PATH="+path)
	if cache := os.Getenv("RELEASE_GOCACHE"); cache != "" {
		env = append(env, "GOCACHE="+cache)
	}
	return append(env, "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOWASM=", "GOEXPERIMENT=", "GOFIPS140=off")
}

// buildCommon builds what is the same on all platforms into dir.
func (r *release) buildCommon(ctx context.Context, program, dir string) error {
	progress("compiling the plugins %s", strings.Join(r.plugins, ", "))
	plugins := filepath.Join(dir, "plugins")
	args := []string{"plugin", "build", "--json", "-o", plugins}
	for _, name := range r.plugins {
		args = append(args, filepath.Join("plugins", name))
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var report bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout = r.root, buildEnv(), &report
	if err := runQuietly(cmd); err != nil {
		return err
	}
	if err := r.leaveOut(report.Bytes()); err != nil {
		return err
	}
	if err := r.writeModuleSums(plugins); err != nil {
		return err
	}
	if err := r.copyTexts(ctx, dir); err != nil {
		return err
	}
	if err := r.copyReadmes(plugins); err != nil {
		return err
	}
	return r.writeCompletions(ctx, program, filepath.Join(dir, "completions"))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// leaveOut removes the plugins that `bulkhead plugin build` left out of a snapshot, because this machine lacks a tool chain, and names them.
// Other releases are refused, so that their bytes do not depend on what the machine has.
func (r *release) leaveOut(report []byte) error {
	var built struct {
		LeftOut []struct{ Name, Reason string } `json:"left_out"`
	}
	if err := json.Unmarshal(report, &built); err != nil {
		return fmt.Errorf("the result of bulkhead plugin build: %w", err)
	}
	for _, plugin := range built.LeftOut {
		if !r.snapshot {
			return fmt.Errorf("the plugin %s is not built: %s: run .ci/toolchains release, or leave the plugin out with --without %[1]s", plugin.Name, plugin.Reason)
		}
		progress("left out the plugin %s: %s", plugin.Name, plugin.Reason)
		r.without = append(r.without, "the plugin "+plugin.Name)
		r.plugins = slices.DeleteFunc(r.plugins, func(name string) bool { return name == plugin.Name })
	}
	return nil
}

// writeModuleSums writes the digests of the modules to a file beside them.
func (r *release) writeModuleSums(plugins string) error {
	modules, err := filepath.Glob(filepath.Join(plugins, "*", "*.wasm"))
	if err != nil {
		return err
	}
	if len(modules) != len(r.plugins) {
		return fmt.Errorf("%d plugins have %d modules: %s", len(r.plugins), len(modules), strings.Join(modules, ", "))
	}
	return writeSums(plugins, modules)
}

// writeSums writes the digests of files to dir, in the format of sha256sum.
func writeSums(dir string, files []string) error {
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&text, "%s  %s\n", hex.EncodeToString(sum[:]), filepath.ToSlash(name))
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(text.String()), 0o644)
}

// completionFiles are the names that shells expect of files with completions.
var completionFiles = map[string]string{"bash": "bulkhead.bash", "zsh": "_bulkhead", "fish": "bulkhead.fish", "powershell": "bulkhead.ps1"}

func (r *release) writeCompletions(ctx context.Context, program, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for shell, name := range completionFiles {
		text, err := r.output(ctx, program, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// copyTexts copies those of the texts that git tracks: an editor's files in docs, which git ignores, are no part of a release.
func (r *release) copyTexts(ctx context.Context, dir string) error {
	names, err := r.output(ctx, "git", append([]string{"ls-files", "-z", "--"}, texts...)...)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(names, "\x00"), "\x00") {
		err := copyFileTo(filepath.Join(r.root, name), filepath.Join(dir, name))
		if r.snapshot && errors.Is(err, fs.ErrNotExist) { // removed in the working tree
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyReadmes copies the pages of plugins that are left out, to which other pages link. A directory without plugin.toml is no plugin.
func (r *release) copyReadmes(dir string) error {
	pages, err := filepath.Glob(filepath.Join(r.root, "plugins", "*", "README.md"))
	for _, page := range pages {
		if name := filepath.Base(filepath.Dir(page)); err == nil && !slices.Contains(r.plugins, name) {
			err = copyFileTo(page, filepath.Join(dir, name, "README.md"))
		}
	}
	return err
}

// copyFileTo copies a regular file, and creates the directory of the copy.
func copyFileTo(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", from)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644))
}

// normalize sets permissions and time stamps that do not depend on the machine. It refuses symbolic links, since both are
// set on their targets.
func normalize(dir string, date time.Time) error {
	return filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !e.IsDir() && !e.Type().IsRegular() {
			return errors.New(path + " is neither a directory nor a regular file")
		}
		mode := os.FileMode(0o644)
		if e.IsDir() || strings.HasPrefix(e.Name(), "bulkhead") && filepath.Dir(path) == dir {
			mode = 0o755
		}
		return errors.Join(os.Chmod(path, mode), os.Chtimes(path, date, date))
	})
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// A branch's name that is let through has none of what git forbids, and names a file below refs/heads.
func FuzzBranchName(f *testing.F) {
	for _, seed := range []string{"main", "feature/x", "", "-x", "a..b", "a@{b", "@", "a.lock", "a/.b", "../../HEAD", "a\\b", "ünï", "a\x00", "HEAD", "a//b"} {
		f.Add(seed)
	}
	r := newRepo(f, f.TempDir())
	ops := granted(r.dir)
	f.Fuzz(func(t *testing.T, name string) {
		found, err := ops.BranchExists(t.Context(), abi.GitBranch{Repo: r.dir, Branch: name})
		if found {
			t.Fatalf("%q exists in an empty repository", name)
		}
		switch code(err) {
		case abi.HostInvalid:
			return
		case "":
		default:
			t.Fatalf("%q: %v", name, err)
		}
		if strings.ContainsAny(name, " ~^:?*[\\\x00\x7f\n\t") || strings.HasPrefix(name, "-") || strings.Contains(name, "..") ||
			strings.Contains(name, "@{") || strings.HasSuffix(name, ".lock") || !filepath.IsLocal(name) || filepath.Clean(name) != name {
			t.Fatalf("%q was let through", name)
		}
	})
}

// Whatever a repository's files hold, an operation answers or fails: no panic, nothing denied or
// invalid by chance, no hang.
func FuzzRepositoryFiles(f *testing.F) {
	hash := strings.Repeat("ab", 20)
	f.Add([]byte("ref: refs/heads/main\n"), []byte(hash+" refs/heads/main\n"), []byte("[core]\n"), []byte("../../store\n"), []byte(hash))
	f.Add([]byte(hash+"\n"), []byte("# pack-refs\n^"+hash+"\n"), []byte("\xff"), []byte("\"a\\\n#\n"), []byte(hash+"\n"+hash))
	f.Add([]byte("ref:refs/heads/../x"), []byte("\n\n refs/heads/main"), []byte(""), []byte("."), []byte(""))
	r := sample(f, f.TempDir())
	if err := os.Remove(r.dot + "/refs/heads/main"); err != nil {
		f.Fatal(err)
	}
	ops := granted(r.dir)
	f.Fuzz(func(t *testing.T, head, packedRefs, config, alternates, shallow []byte) {
		for name, content := range map[string][]byte{"HEAD": head, "packed-refs": packedRefs, "config": config,
			"objects/info/alternates": alternates, "shallow": shallow} {
			write(t, filepath.Join(r.dot, name), string(content))
		}
		_, err1 := ops.BranchExists(t.Context(), abi.GitBranch{Repo: r.dir, Branch: "main"})
		_, err2 := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.dir, Branch: "feature/x", Path: "notes.txt"})
		_, err3 := ops.FindCommit(t.Context(), abi.GitSearch{Repo: r.dir, Text: "first"})
		for _, err := range []error{err1, err2, err3} {
			c := code(err)
			if c != "" && c != abi.HostFailed && c != abi.HostDenied || err != nil && strings.Contains(err.Error(), "is damaged: runtime error") {
				t.Fatal(err)
			}
			if c == abi.HostDenied && !strings.Contains(err.Error(), "alternates points to") {
				t.Fatal(err)
			}
		}
	})
}

// Whatever a pack and its index hold, what is read is right or is an error.
func FuzzPack(f *testing.F) {
	r := sample(f, f.TempDir())
	r.pack(true)
	files, err := filepath.Glob(r.dot + "/objects/pack/pack-*")
	if err != nil || len(files) != 2 {
		f.Fatal(files, err)
	}
	var seeds [2][]byte
	for i, name := range files {
		if seeds[i], err = os.ReadFile(name); err != nil {
			f.Fatal(err)
		}
		if err := os.Chmod(name, 0o644); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(seeds[0], seeds[1])
	f.Add(seeds[0][:len(seeds[0])/2], seeds[1])
	f.Add(seeds[0], seeds[1][:len(seeds[1])/2])
	f.Add([]byte{}, []byte{})
	ops := granted(r.dir)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		write(t, files[0], string(first))
		write(t, files[1], string(second))
		got, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.dir, Branch: "main", Path: "dir/deep.txt"})
		if c := code(err); c != "" && c != abi.HostFailed || err == nil && got.Found && string(got.Content) != "deep\n" {
			t.Fatalf("%q, %v", got.Content, err)
		}
		if err != nil && strings.Contains(err.Error(), "is damaged: runtime error") {
			t.Fatal(err)
		}
	})
}

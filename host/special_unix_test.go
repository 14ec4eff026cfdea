//go:build unix

package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// fifo replaces the file by a FIFO, opening which blocks until another process writes to it.
func fifo(t *testing.T, w *hosttest.World, name string) string {
	t.Helper()
	path := filepath.Join(w.Dir, name)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every file that a config names, or that is found by its place, can be a FIFO. None of them is waited for.
func TestFIFOIsRefusedInPlaceOfAnyFile(t *testing.T) {
	serve := func(o func(w *hosttest.World) host.HTTPOptions) func(*testing.T, *hosttest.World) error {
		return func(t *testing.T, w *hosttest.World) error {
			t.Helper()
			options := o(w)
			options.Address = "127.0.0.1:0"
			return w.Open(t, w.Options()).ServeHTTP(t.Context(), options)
		}
	}
	open := func(_ *testing.T, w *hosttest.World) error {
		_, err := host.Open(w.Options())
		return err
	}
	at := func(w *hosttest.World, name string) string { return filepath.Join(w.Dir, "work", name) }
	for file, use := range map[string]func(*testing.T, *hosttest.World) error{
		"work/bulkhead.toml": open,
		"work/team.toml":     open,
		hosttest.Ceiling:     open,
		"plugins/a/plugin.toml": func(t *testing.T, w *hosttest.World) error {
			h := w.Open(t, w.Options())
			return &host.UsageError{Err: errorText(h.Plugins()[0].Problem)}
		},
		"work/token": serve(func(w *hosttest.World) host.HTTPOptions { return host.HTTPOptions{TokenFile: at(w, "token")} }),
		"work/cert": serve(func(w *hosttest.World) host.HTTPOptions {
			return host.HTTPOptions{CertFile: at(w, "cert"), KeyFile: at(w, "key")}
		}),
		"work/key": serve(func(w *hosttest.World) host.HTTPOptions {
			return host.HTTPOptions{CertFile: at(w, "cert"), KeyFile: at(w, "key")}
		}),
		"work/credential": func(_ *testing.T, w *hosttest.World) error {
			_, err := discovery.Secret(w.Options().System, &config.Credential{File: at(w, "credential")})
			return err
		},
	} {
		t.Run(file, func(t *testing.T) {
			w := hosttest.New(t, answering("a", "A"), hosttest.Files{"etc": "/", "work/bulkhead.toml": "include = ['team.toml']\n",
				"work/team.toml": "[[plugins]]\npath = '../plugins/a'\n"})
			writeCertificate(t, at(w, "cert"), at(w, "key"))
			path := fifo(t, w, file)
			if err := use(t, w); err == nil || !strings.Contains(err.Error(), "regular file") {
				t.Errorf("%s: got %v", path, err)
			}
		})
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }

// Another user who can change the token or the key decides who may call; one who can change a credential, as whom the host calls.
func TestSecretsThatOthersCanWriteAreRefused(t *testing.T) {
	const other = 54321 // an unused user ID
	for name, change := range map[string]func(path string) error{
		"writable":                 func(path string) error { return os.Chmod(path, 0o602) },
		"in a writable directory":  func(path string) error { return os.Chmod(filepath.Dir(path), 0o777) },
		"owned by another user":    func(path string) error { return os.Chown(path, other, other) },
		"a link of another user's": func(path string) error { return os.Lchown(path, other, other) },
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "another user") && os.Geteuid() != 0 {
				t.Skip("only root can give a file to another user")
			}
			w := hosttest.New(t, answering("a", "A"), hosttest.Files{"secret/file": token})
			path := filepath.Join(w.Dir, "secret", "file")
			if strings.HasPrefix(name, "a link") {
				if err := os.Rename(path, path+".real"); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(path+".real", path); err != nil {
					t.Fatal(err)
				}
			}
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			if _, err := discovery.Secret(w.Options().System, &config.Credential{File: path}); err == nil || !strings.Contains(err.Error(), "ch") {
				t.Errorf("a credential: got %v", err)
			}
			o := host.HTTPOptions{Address: "127.0.0.1:0", TokenFile: path}
			hosttest.WantUsage(t, w.Open(t, w.Options()).ServeHTTP(t.Context(), o), "the bearer token in "+path)
			o = host.HTTPOptions{Address: "127.0.0.1:0", CertFile: filepath.Join(w.Dir, "cert"), KeyFile: path}
			writeCertificate(t, o.CertFile, filepath.Join(w.Dir, "key"))
			hosttest.WantUsage(t, w.Open(t, w.Options()).ServeHTTP(t.Context(), o), "TLS", path)
		})
	}
}

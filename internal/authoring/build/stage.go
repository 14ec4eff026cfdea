package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

const (
	// oldName is the name of the plugin that is being replaced, inside a staging directory.
	oldName = "old"
	// abandonedAge is the age from which a staging directory is assumed to belong to a killed build.
	abandonedAge = 24 * time.Hour
)

// stage is a staging directory beside the output directory, on the same file system. Its name begins with a dot,
// so that it is not discovered as a plugin. Plugin names contain no dots, so prefixes are unambiguous.
type stage struct {
	dir    string // absolute path of the staging directory
	plugin string // subdirectory of dir in which the new plugin is built
	keep   bool   // set if close must not remove dir, because it contains the only copy of a plugin
	log    hclog.Logger
}

func newStage(out, name string, log hclog.Logger) (*stage, error) {
	if err := userfile.CheckOutput(".", out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	sweep(out, name, log)
	dir, err := os.MkdirTemp(out, stagePrefix(name))
	if err == nil {
		// Build commands run in a different working directory.
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	st := &stage{dir: dir, plugin: filepath.Join(dir, "plugin"), log: log}
	// The staging directory is private. The permissions of the output are left to the umask.
	if err := os.Mkdir(st.plugin, 0o777); err != nil {
		st.close()
		return nil, fmt.Errorf("output directory: %w", err)
	}
	return st, nil
}

// stagePrefix returns the name prefix of a plugin's staging directories.
func stagePrefix(name string) string { return "." + name + ".staged-" }

// sweep removes staging directories of killed builds of the same plugin. If such a build had moved the previous version of the
// plugin into its staging directory, sweep moves this version back, or leaves it there if the plugin was built again.
func sweep(out, name string, log hclog.Logger) {
	entries, err := os.ReadDir(out)
	if err != nil {
		log.Warn("cannot look for staging directories of earlier builds", "error", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), stagePrefix(name)) {
			continue
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < abandonedAge {
			continue
		}
		dir := filepath.Join(out, e.Name())
		if err := withLock(out, log, func() error { return removeAbandoned(dir, filepath.Join(out, name), log) }); err != nil {
			log.Warn("cannot remove the staging directory of an earlier build", "error", err)
		}
	}
}

// removeAbandoned removes an abandoned staging directory, but not a plugin that was moved there from target.
func removeAbandoned(dir, target string, log hclog.Logger) error {
	old := filepath.Join(dir, oldName)
	_, err := os.Lstat(old)
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(dir)
	}
	if err != nil {
		return err
	}
	_, err = os.Lstat(target)
	if err == nil {
		log.Warn("an interrupted build left the previous version of a plugin: remove it if it is not needed", "plugin", old)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(old, target); err != nil {
		return fmt.Errorf("the previous version of the plugin is still in %s: %w", old, err)
	}
	log.Warn("restored a plugin that an interrupted build had moved", "plugin", target)
	return os.RemoveAll(dir)
}

func (st *stage) close() {
	if st.keep {
		return
	}
	err := os.RemoveAll(st.dir)
	// The processes of a cancelled build may still be writing while they exit, so removing the directory is retried.
	for tries := 20; err != nil && tries > 0; tries-- {
		time.Sleep(10 * time.Millisecond)
		err = os.RemoveAll(st.dir)
	}
	if err != nil {
		st.log.Warn("cannot remove the staging directory", "error", err)
	}
}

// file returns a path in the staging directory outside the output.
func (st *stage) file(name string) string { return filepath.Join(st.dir, name) }

// addModule copies the module to its path in the manifest.
func (st *stage) addModule(s *source, module io.Reader) (sum string, size int64, err error) {
	hash := sha256.New()
	size, err = st.add(s.m.Module.File, io.TeeReader(io.LimitReader(module, code.MaxModule+1), hash))
	if err != nil {
		return "", 0, err
	}
	if size > code.MaxModule {
		return "", 0, tomlfile.Problems{s.problem("module", "file", fmt.Sprintf("the module is larger than the %d MiB that a host runs", code.MaxModule>>20), "")}
	}
	return hex.EncodeToString(hash.Sum(nil)), size, nil
}

// addTexts adds the skills, the manifest with the digests, the readme and the licence.
func (st *stage) addTexts(s *source, sum string) error {
	filled, err := s.doc.SetString("module", "sha256", sum)
	if err != nil {
		return tomlfile.Problems{s.problem("module", "sha256", fmt.Sprintf("cannot be set: %v", err), "write [module] as a table with a heading, one key a line")}
	}
	if filled, err = st.addSkills(s, filled); err != nil {
		return err
	}
	if _, err := st.add(manifest.FileName, bytes.NewReader(filled.Bytes())); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.m.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !IsText(e.Name()) || e.Name() == s.m.Module.File {
			continue
		}
		text, err := tomlfile.ReadFile(filepath.Join(s.m.Dir, e.Name()))
		if err != nil {
			return tomlfile.Problems{{File: filepath.Join(s.dir, e.Name()), What: err.Error()}}
		}
		if _, err := st.add(e.Name(), bytes.NewReader(text)); err != nil {
			return err
		}
	}
	return nil
}

// IsText reports whether the file name is a readme or a licence, which are part of a built plugin.
func IsText(name string) bool { return name == "README.md" || strings.HasPrefix(name, "LICENSE") }

// add creates a file of the output. The file must not exist.
func (st *stage) add(name string, from io.Reader) (size int64, err error) {
	path := filepath.Join(st.plugin, name)
	dir := filepath.Dir(path)
	if err := atomicfile.MkdirAll(dir, atomicfile.Options{Mode: 0o666}); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(f, from)
	return size, errors.Join(err, f.Sync(), f.Close(), filesystem.OS{}.SyncDir(dir))
}

// withLock runs do with the lock of the parent of the staging directory.
func (st *stage) withLock(do func() error) error { return withLock(filepath.Dir(st.dir), st.log, do) }

// replace renames the output to target. An existing target is replaced.
func (st *stage) replace(s *source, target string) error {
	return st.withLock(func() error {
		if err := s.checkTarget(target).Err(); err != nil {
			return err
		}
		old := st.file(oldName)
		err := os.Rename(target, old)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		moved := err == nil
		if err = os.Rename(st.plugin, target); err == nil {
			return filesystem.OS{}.SyncDir(filepath.Dir(target)) // before close removes the previous version
		}
		if !moved {
			return err
		}
		if back := os.Rename(old, target); back != nil {
			st.keep = true
			return fmt.Errorf("%w; the previous version of the plugin is now in %s: %w", err, old, back)
		}
		return err
	})
}

// withLock runs do with an exclusive flock of dir, so that concurrent builds do not check and replace the same
// plugin at the same time. The kernel releases the lock when the process exits. On a file system without flock,
// do runs without a lock.
func withLock(dir string, log hclog.Logger, do func() error) error {
	out, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := lockDirectory(out); err != nil {
		log.Warn("cannot lock the output directory: do not run concurrent builds into it", "directory", dir, "error", err)
	}
	return do()
}

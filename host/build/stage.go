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
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

const (
	// oldName is the name, in a staging folder, of the plugin that is being replaced.
	oldName = "old"
	// abandoned is the age at which a staging folder belongs to a build that was killed.
	abandoned = 24 * time.Hour
)

// stage is a folder beside the place that a plugin is built to, on the same file system. Its name begins
// with a dot, which no search for plugins looks at, and no plugin's name holds the second dot.
type stage struct {
	dir    string
	plugin string // the finished folder in it
	keep   bool   // it holds something that must not be lost
	log    hclog.Logger
}

func newStage(out, name string, log hclog.Logger) (*stage, error) {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	sweep(out, name, log)
	dir, err := os.MkdirTemp(out, stagePrefix(name))
	if err == nil {
		// The commands that fill it run elsewhere.
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	st := &stage{dir: dir, plugin: filepath.Join(dir, "plugin"), log: log}
	// The temporary folder is the user's alone, the finished one is for whom the umask lets.
	if err := os.Mkdir(st.plugin, 0o777); err != nil {
		st.close()
		return nil, fmt.Errorf("output folder: %w", err)
	}
	return st, nil
}

// stagePrefix is how the names of the staging folders of a plugin begin.
func stagePrefix(name string) string { return "." + name + ".staged-" }

// sweep removes what killed builds of the same plugin left behind. A plugin that such a build has moved away
// is the user's: it goes back to its place, or stays where it is if another is there.
func sweep(out, name string, log hclog.Logger) {
	entries, err := os.ReadDir(out)
	if err != nil {
		log.Warn("look for leftovers of earlier builds", "error", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), stagePrefix(name)) {
			continue
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < abandoned {
			continue
		}
		dir := filepath.Join(out, e.Name())
		if err := locked(out, log, func() error { return removeLeftover(dir, filepath.Join(out, name), log) }); err != nil {
			log.Warn("remove what an earlier build left behind", "error", err)
		}
	}
}

// removeLeftover removes a staging folder that nobody works in any more, but no plugin that was at target.
func removeLeftover(dir, target string, log hclog.Logger) error {
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
		log.Warn("a plugin that an earlier build was to replace is kept: remove it if it is not needed", "plugin", old)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(old, target); err != nil {
		return fmt.Errorf("the plugin that was there is still in %s: %w", old, err)
	}
	log.Warn("a plugin that an earlier build had moved away is back in its place", "plugin", target)
	return os.RemoveAll(dir)
}

func (st *stage) close() {
	if st.keep {
		return
	}
	err := os.RemoveAll(st.dir)
	// The processes of a cancelled build may take a moment to die, and write until then.
	for tries := 20; err != nil && tries > 0; tries-- {
		time.Sleep(10 * time.Millisecond)
		err = os.RemoveAll(st.dir)
	}
	if err != nil {
		st.log.Warn("remove the staging folder", "error", err)
	}
}

// file is a path for the build's own use.
func (st *stage) file(name string) string { return filepath.Join(st.dir, name) }

// addModule copies the module to where the manifest says that it is.
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

// addTexts adds the manifest, with the module's digest, and what a person reads.
func (st *stage) addTexts(s *source, sum string) error {
	filled, err := tomlfile.SetString(s.data, "module", "sha256", sum)
	if err != nil {
		return tomlfile.Problems{s.problem("module", "sha256", fmt.Sprintf("cannot be filled in: %v", err), "write [module] more plainly")}
	}
	if _, err := st.add(manifest.FileName, bytes.NewReader(filled)); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.m.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isText(e.Name()) || e.Name() == s.m.Module.File {
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

// isText reports whether a built plugin has a file of that name beside manifest and module.
func isText(name string) bool { return name == "README.md" || strings.HasPrefix(name, "LICENSE") }

// add writes a file of the finished folder, which must not have it yet.
func (st *stage) add(name string, from io.Reader) (size int64, err error) {
	path := filepath.Join(st.plugin, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(f, from)
	return size, errors.Join(err, f.Close())
}

// locked is locked of the folder that the plugin is built to.
func (st *stage) locked(do func() error) error { return locked(filepath.Dir(st.dir), st.log, do) }

// replace puts the finished folder in the place of target, which may be there or not.
func (st *stage) replace(s *source, target string) error {
	return st.locked(func() error {
		if err := s.mayReplace(target).Err(); err != nil {
			return err
		}
		old := st.file(oldName)
		err := os.Rename(target, old)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		moved := err == nil
		if err = os.Rename(st.plugin, target); err == nil || !moved {
			return err
		}
		if back := os.Rename(old, target); back != nil {
			st.keep = true
			return fmt.Errorf("%w; the plugin that was there is now in %s: %w", err, old, back)
		}
		return err
	})
}

// locked keeps builds into the same folder from replacing a plugin while another looks at it or replaces
// it. The kernel ends the lock with the process. A file system without such locks does without.
func locked(folder string, log hclog.Logger, do func() error) error {
	out, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer out.Close()
	for {
		if err = syscall.Flock(int(out.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		log.Warn("the output folder cannot be locked: build into it once at a time", "error", err)
	}
	return do()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

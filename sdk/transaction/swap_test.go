package transaction_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// swappedScene has changes of each kind in the directory r/d, and a directory outside of the root with the same files.
func swappedScene(t *testing.T) *scene {
	t.Helper()
	base := tree(t, map[string]string{
		"r/d/update": "old", "r/d/remove": "old", "r/d/move": "old", "r/d/link": "-> update", "r/last": "old",
		"outside/update": "old", "outside/remove": "old", "outside/move": "theirs", "outside/link": "-> update", "outside/e/kept": "old",
	})
	s := &scene{root: filepath.Join(base, "r")}
	s.log = transaction.Log{FS: noSync{}, Dir: filepath.Join(base, "journal")}
	link := s.change("d/link", "", "new")
	link.Before, link.NoFollow = transaction.LinkDigest("update"), true
	s.changes = []transaction.Change{
		s.change("d/update", "old", "new"), s.change("d/remove", "old", ""), link, s.change("d/e/make", "", "new"),
		{Root: s.root, Path: s.at("moved-here"), From: s.at("d/move")}, {Root: s.root, Path: s.at("d/moved-in"), From: s.at("last")},
	}
	s.before = look(t, s.outside())
	return s
}

func (s *scene) outside() string { return filepath.Join(s.root, "../outside") }

// swapAt returns a file system on which another program replaces r/d with a symbolic link before the operation at, if that operation only
// reads. No operation may change an entry behind the link afterwards.
func (s *scene) swapAt(t *testing.T, at int, noLinks bool) (f *faultfs.FS, swapped *bool) {
	swapped = new(bool)
	f = &faultfs.FS{FS: noSync{}, At: at, Reads: true, NoLinks: noLinks}
	f.Before = func(operation, to string) {
		reads := slices.Contains([]string{"lstat", "stat", "readlink", "readdir", "open", "read", "check"}, operation)
		returns := operation == "rename" && (to == s.at("d/remove") || to == s.at("d/move")) // what a rename may have taken from behind the link
		if *swapped && !reads && !returns && operation != "sync directory" && strings.HasPrefix(to, s.at("d/")) {
			t.Errorf("%s %s after the swap before operation %d, %s", operation, to, at, f.Operations()[at-1])
		}
		if f.Count() == at && reads {
			*swapped = true
			must(t, errors.Join(os.Rename(s.at("d"), s.at("moved")), os.Symlink("../outside", s.at("d"))))
		}
	}
	return f, swapped
}

// TestDirectorySwappedForLinkIsNotWrittenThrough simulates that another program, before each operation that only reads, replaces a directory
// with a symbolic link to a directory with the same files.
func TestDirectorySwappedForLinkIsNotWrittenThrough(t *testing.T) {
	for _, noLinks := range []bool{false, true} {
		ended := 0
		for at := 1; ; at++ {
			s := swappedScene(t)
			f, swapped := s.swapAt(t, at, noLinks)
			err := s.apply(f)
			if !f.Reached() {
				break
			}
			if err != nil && *swapped {
				ended++
			}
			s.recover(t)
			if diff := cmp.Diff(s.before, look(t, s.outside())); diff != "" {
				t.Errorf("operation %d, %s, no links %v: %v, outside (-want +got)\n%s", at, f.Operations()[at-1], noLinks, err, diff)
			}
		}
		if ended < 10 {
			t.Errorf("only %d transactions ended", ended)
		}
	}
}

// TestRecoveryDoesNotWriteThroughSwappedDirectory does the same during the recovery of a transaction that was killed.
func TestRecoveryDoesNotWriteThroughSwappedDirectory(t *testing.T) {
	for _, kill := range []struct{ operation, base string }{
		{"rename", "switching.json"}, {"rename", "link"}, {"rename", "moved-here"}, {"rename", "moved-in"}, {"rename", "committed.json"}, {"remove", "committed.json"},
	} {
		t.Run(fmt.Sprint(kill), func(t *testing.T) {
			for at := 1; ; at++ {
				s := swappedScene(t)
				s.kill(t, kill.operation, kill.base)
				f, _ := s.swapAt(t, at, false)
				l := s.log
				l.FS = f
				report, err := l.Recover()
				if !f.Reached() {
					break
				}
				s.recover(t)
				if diff := cmp.Diff(s.before, look(t, s.outside())); diff != "" {
					t.Errorf("operation %d, %s: %v, %v, outside (-want +got)\n%s", at, f.Operations()[at-1], report, err, diff)
				}
			}
		})
	}
}

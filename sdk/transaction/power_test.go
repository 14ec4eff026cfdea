package transaction_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/memfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// TestLossOfPower simulates a power failure at every operation of a transaction, and another one at an operation of its recovery. Then either
// all files are old or all files are new. If Apply had returned without an error, all files are new.
func TestLossOfPower(t *testing.T) {
	before := map[string]string{"/r/": "", "/r/update": "old", "/r/remove": "old", "/r/moving/": "", "/r/moving/f": "m", "/r/to/": "", "/j/": ""}
	after := map[string]string{"/r/": "", "/r/update": "new", "/r/new/": "", "/r/new/d/": "", "/r/new/d/make": "made", "/r/to/": "", "/r/to/moved/": "", "/r/to/moved/f": "m", "/j/": ""}
	changes := []transaction.Change{
		{Path: "/r/update", Before: digest("old"), After: []byte("new")},
		{Path: "/r/remove", Before: digest("old"), Delete: true},
		{Path: "/r/new/d/make", After: []byte("made")},
		{Path: "/r/to/moved", From: "/r/moving"},
	}
	for i := range changes {
		changes[i].Root = "/r"
	}
	formats := []*transaction.Format{nil, {Staging: "lock", Switching: "lock", Committed: "lock"}}
	random := rand.New(rand.NewPCG(3, 4))
	acknowledged, olds := 0, 0
	for round := range 40 {
		for at := 1; ; at++ {
			disk := memfs.New()
			for _, dir := range []string{"/r", "/r/moving", "/r/to", "/j"} {
				must(t, disk.Mkdir(dir, 0o755))
			}
			for path, content := range before {
				if content != "" {
					file, err := disk.Create(path, 0o644)
					must(t, err)
					_, _ = file.Write([]byte(content))
					must(t, file.Sync())
				}
			}
			for _, dir := range []string{"/", "/r", "/r/moving", "/r/to", "/j"} {
				must(t, disk.SyncDir(dir))
			}
			f := &faultfs.FS{FS: disk, Mode: faultfs.KillAfter, At: at}
			l := transaction.Log{FS: f, Dir: "/j", Format: formats[round%2]}
			err := l.Apply(changes)
			disk.LosePower(random.IntN)
			if random.IntN(2) == 0 {
				l.FS = &faultfs.FS{FS: disk, Mode: faultfs.KillAfter, At: 1 + random.IntN(20)}
				_, _ = l.Recover()
				disk.LosePower(random.IntN)
			}
			l.FS = disk
			if _, recoverErr := l.Recover(); recoverErr != nil {
				t.Fatalf("operation %d: recover: %v\n%q\n%q", at, recoverErr, f.Operations(), disk.Files())
			}
			now := disk.Files()
			if diff := cmp.Diff(after, now); diff != "" && (err == nil || !cmp.Equal(before, now)) {
				t.Fatalf("operation %d, %v (-want +got)\n%s\n%q", at, err, diff, f.Operations())
			}
			if err == nil {
				acknowledged++
			}
			if cmp.Equal(before, now) {
				olds++
			}
			if !f.Reached() {
				break
			}
		}
	}
	if acknowledged < 40 || olds < 40 {
		t.Errorf("%d transactions were acknowledged, %d had no effect", acknowledged, olds)
	}
}

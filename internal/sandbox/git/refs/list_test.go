package refs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
)

// A list has exactly the references that Resolve finds, with their hashes.
func TestListAgreesWithResolve(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	hash := func(digit string) string { return strings.Repeat(digit, 40) }
	packed := []string{
		"# pack-refs with: peeled", "",
		hash("4") + " refs/x/packed", "^" + hash("9"), hash("5") + " refs/x/packed", hash("6") + " refs/x/both", hash("7") + " refs/x/packed-below/packed",
		"x refs/x/packed-broken", hash("8") + " refs/x/packed-broken", hash("0") + " refs/x/packed-nothing", hash("8") + " refs/x/broken-over-packed",
		hash("9") + " refs/y/packed", hash("9") + " refs/x/in..valid",
	}
	for name, content := range map[string]string{
		"loose": hash("1"), "both": hash("2"), "nothing": hash("0"), "malformed": "x", "packed-below/loose": hash("3"),
		"to-loose": "ref: refs/x/loose", "to-packed": "ref: refs/x/packed", "to-both": "ref: refs/x/both", "to-other": "ref: refs/y/packed",
		"to-nothing": "ref: refs/x/nothing", "to-absent": "ref: refs/x/absent", "to-malformed": "ref: refs/x/malformed",
		"to-broken": "ref: refs/x/packed-broken", "to-config": "ref: config", "to-escape": "ref: refs/../config", "to-head": "ref: HEAD",
		"cycle": "ref: refs/x/cycle", "cycle-a": "ref: refs/x/cycle-b", "cycle-b": "ref: refs/x/cycle-a", "broken-over-packed": "x",
		"1": "ref: refs/x/2", "2": "ref: refs/x/3", "3": "ref: refs/x/4", "4": "ref: refs/x/5", "5": "ref: refs/x/6", "6": "ref: refs/y/packed",
	} {
		gittest.Write(t, r.Dot+"/refs/x/"+name, content+"\n")
	}
	gittest.Write(t, r.Dot+"/packed-refs", strings.Join(packed, "\n")+"\n")
	open := gittest.Open(t, r.Dir)
	all, err := refs.List(t.Context(), open, "refs/x/")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]refs.Reference{}
	for _, ref := range all {
		listed[ref.Name] = ref
	}
	entries, err := os.ReadDir(r.Dot + "/refs/x")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"packed", "packed-below/packed", "packed-below/loose", "packed-broken", "packed-nothing", "absent", "in..valid"}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	found := 0
	for _, name := range names {
		name = "refs/x/" + name
		want, ok, err := refs.Resolve(t.Context(), open, name)
		if strings.Contains(name, "..") {
			ok = false
		}
		ref, isListed := listed[name]
		if isListed != (ok && err == nil) || isListed && ref.Hash != want {
			t.Errorf("%s: listed %t with %s; resolved %t to %s, %v", name, isListed, ref.Hash, ok, want, err)
		}
		if isListed {
			found++
		}
	}
	if found != len(all) || found < 10 {
		t.Errorf("%d of %d references were compared", found, len(all))
	}
	if got := listed["refs/x/2"].Target; got != "refs/x/3" {
		t.Errorf("the target of a symbolic reference is %q", got)
	}
}

// packed-refs is read a fixed number of times, however many references it has, and however many refer to others in it. Each reading
// checks at least once whether the call has ended.
func TestListReadsPackedReferencesAFewTimes(t *testing.T) {
	const count = 1000
	r := gittest.Sample(t, t.TempDir())
	var packed strings.Builder
	for n := range count {
		fmt.Fprintf(&packed, "%s refs/tags/%d\n%[1]s refs/other/%[2]d\n", strings.Repeat("a", 40), n)
		gittest.Write(t, fmt.Sprintf("%s/refs/tags/link%d", r.Dot, n), fmt.Sprintf("ref: refs/other/%d\n", n))
	}
	gittest.Write(t, r.Dot+"/packed-refs", packed.String())
	open := gittest.Open(t, r.Dir)
	// Each name is looked up in one file: that of a tag, that of a link, and that of the target of a link.
	all, err := refs.List(gittest.EndAfter(t.Context(), 3*count+50), open, "refs/tags/")
	if err != nil || len(all) != 2*count {
		t.Errorf("got %d references, %v", len(all), err)
	}
}

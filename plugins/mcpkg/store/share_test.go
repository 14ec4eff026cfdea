package store

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// TestConcurrentCreateOfOneName has several goroutines create an item of the same name. A mutex replaces the host's
// lock.
func TestConcurrentCreateOfOneName(t *testing.T) {
	state := t.TempDir()
	var lock sync.Mutex
	const rounds = 100
	results := make([][2]error, rounds)
	var servers sync.WaitGroup
	for server := range 2 {
		p := openStore(t, state)
		servers.Go(func() {
			for round := range rounds {
				lock.Lock()
				results[round][server] = p.Create(prompt(t, fmt.Sprint(round), fmt.Sprint("of ", server)))
				lock.Unlock()
			}
		})
	}
	servers.Wait()
	p := openStore(t, state)
	for round, errs := range results {
		winner := slices.Index(errs[:], nil)
		if winner < 0 || !errors.Is(errs[1-winner], ErrNameTaken) {
			t.Fatalf("round %d: %v", round, errs)
		}
		_, content, err := p.Load(item.Prompt, fmt.Sprint(round))
		if err != nil || string(content) != fmt.Sprint("of ", winner) {
			t.Errorf("round %d: the item has the content %q, %v", round, content, err)
		}
	}
	list, err := p.List(item.Prompt)
	if err != nil || len(list) != rounds {
		t.Errorf("List returned %d items, %v", len(list), err)
	}
}

// TestConcurrentReadersSeeCompleteItems has one server write while another server reads. The reader finds every item,
// and each item is complete.
func TestConcurrentReadersSeeCompleteItems(t *testing.T) {
	state := t.TempDir()
	writer, reader := openStore(t, state), openStore(t, state)
	must(t, writer.Create(prompt(t, "p", "0")))
	if got := contents(t, reader); !slices.Equal(got, []string{"prompt p: 0"}) {
		t.Fatalf("got %q", got)
	}
	must(t, writer.Create(resource(t, "r", "0")))
	long := strings.Repeat("0123456789", 10_000)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				list, err := reader.List(item.Prompt)
				if err != nil || len(list) != 1 {
					t.Errorf("List returned %d items, %v", len(list), err)
					return
				}
				if _, content, err := reader.LoadURI("a:r"); err != nil || len(content) != 1 && string(content) != long {
					t.Errorf("Load returned %d bytes, %v", len(content), err)
					return
				}
			}
		})
	}
	for i := range 50 {
		text := "1"
		if i%2 == 0 {
			text = long
		}
		_, err := writer.Import([]item.Draft{prompt(t, "p", text), resource(t, "r", text)}, true)
		must(t, err)
		s, err := writer.Find(item.Resource, "r")
		must(t, err)
		must(t, writer.Replace(s, resource(t, "r", text)))
	}
	close(stop)
	readers.Wait()
	left, err := os.ReadDir(writer.dir)
	if err != nil || len(left) != 3 {
		t.Errorf("want only the files of two items and project.json: %v, %v", left, err)
	}
}

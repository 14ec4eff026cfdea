package confine

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

func init() {
	scenarios["dirty pages"] = func(j job) (Report, map[string]string, error) {
		tracker, opened := dirtypages.Open()
		report, err := Apply(j.Config)
		if err != nil || opened != nil {
			return report, map[string]string{"open": text(opened)}, err
		}
		_, again := dirtypages.Open()
		return report, map[string]string{"record": text(recordOneWrite(tracker)), "open when confined": text(again)}, nil
	}
}

func recordOneWrite(tracker *dirtypages.Tracker) error {
	const size = 1 << 20
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	m, err := tracker.Track(memory)
	if err != nil {
		return err
	}
	if err := m.Protect(size); err != nil {
		return err
	}
	at := 5 * dirtypages.PageSize
	memory[at] = 1
	var written []int
	if err := m.Written(size, func(from, to int) { written = append(written, from, to) }); err != nil {
		return err
	}
	if len(written) != 2 || written[0] != at || written[1] != at+dirtypages.PageSize {
		return fmt.Errorf("ranges %v are reported as written, want the page at %d", written, at)
	}
	return nil
}

func TestConfinedProcessRecordsWrittenPages(t *testing.T) {
	if tracker, err := dirtypages.Open(); err != nil {
		t.Skip(err)
	} else {
		tracker.Close()
	}
	results := run(t, job{Scenario: "dirty pages"}, options{}).Results
	if results["open"] != "" || results["record"] != "" {
		t.Errorf("a confined process cannot record its writes: %s%s", results["open"], results["record"])
	}
	if results["open when confined"] == "" {
		t.Error("a confined process can open a userfaultfd")
	}
}

package project_test

import (
	"fmt"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/sample"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
)

func TestSampleIsValid(t *testing.T) {
	root := t.TempDir()
	if err := sample.Write(root, 7); err != nil {
		t.Fatal(err)
	}
	report, err := check.Run(open(root), check.Request{Strict: true})
	if err != nil || report.Summary.Totals != (check.Totals{Items: 11, Passed: 11}) {
		t.Errorf("%+v, %v", report, err)
	}
	list, err := view.ListChanges(open(root), view.ByTime)
	if err != nil || len(list.Changes) != 7 {
		t.Errorf("%+v, %v", list, err)
	}
}

// BenchmarkProject lists and validates projects of growing size. If the total time grows linearly, the time for each
// change is constant.
func BenchmarkProject(b *testing.B) {
	for _, changes := range []int{10, 100, 1000} {
		root := b.TempDir()
		if err := sample.Write(root, changes); err != nil {
			b.Fatal(err)
		}
		for name, call := range map[string]func() error{
			"list":     func() error { _, err := view.ListChanges(open(root), view.ByTime); return err },
			"validate": func() error { _, err := check.Run(open(root), check.Request{Strict: true}); return err },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, changes), func(b *testing.B) {
				for b.Loop() {
					if err := call(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(changes), "ns/change")
			})
		}
	}
}

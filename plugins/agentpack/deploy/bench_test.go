package deploy_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkDeploy measures a deploy in native code that updates all files of a home directory, and writes manifests,
// backups and a snapshot.
func BenchmarkDeploy(b *testing.B) {
	for _, files := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			h := newHome(b, nil)
			wanted := func(text string) map[string]string {
				all := map[string]string{}
				for i := range files {
					all[fmt.Sprintf("codex:.codex/prompts/p%d.md", i)] = fmt.Sprintf("Prompt %d, %s.\n", i, text)
				}
				return all
			}
			h.deploy(wanted("first"))
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				h.now = h.now.Add(time.Minute)
				request := h.plan(wanted(fmt.Sprint(i)))
				b.StartTimer()
				if _, err := h.deployer().Apply(request); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(files), "µs/file")
		})
	}
}

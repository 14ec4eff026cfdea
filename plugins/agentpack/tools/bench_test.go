package tools_test

import (
	"fmt"
	"testing"
)

// BenchmarkReading measures the tools plan and status for config repos of different sizes. Each module is a deployed
// prompt of 2 KB.
func BenchmarkReading(b *testing.B) {
	for _, modules := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("%d modules", modules), func(b *testing.B) {
			w := newWorld(b, manyModules(modules))
			w.Deploy(``)
			for _, tool := range []string{"plan", "status"} {
				b.Run(tool, func(b *testing.B) {
					w.t = b
					for b.Loop() {
						w.OK(tool, ``, nil)
					}
					b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*modules), "µs/module")
				})
			}
		})
	}
}

func manyModules(count int) map[string]string {
	files := map[string]string{}
	var ids []string
	for i := range count {
		name := fmt.Sprintf("p%04d", i)
		ids = append(ids, "prompt:"+name)
		files[modules("prompt/"+name+"/"+name+".md")] = fmt.Sprintf("%s\n%02000d\n", name, i)
	}
	files[repoFile] = standard(ids...)
	return files
}

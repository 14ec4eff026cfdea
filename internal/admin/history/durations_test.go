package history

import (
	"encoding/json"
	"maps"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for _, µs := range []int64{0, 1, 15, 16, 17, 31, 32, 33, 1000, 123_456, 1 << 40, 1<<63 - 1} {
		b := bucketOf(µs)
		if got := int64(middle(b) / time.Microsecond); µs < 1<<40 && abs(got-µs)*32 > µs+32 {
			t.Errorf("%d µs is in the bucket of %d", µs, got)
		}
		if b < 0 || b > maxBucket || middle(b) < 0 {
			t.Errorf("%d µs is in the bucket %d", µs, b)
		}
	}
	for text, want := range map[string]Durations{`[]`: {}, `[3,4,959,1]`: {3: 4, 959: 1}, `[1]`: nil, `[-1,2]`: nil, `[960,1]`: nil, `[1,0]`: nil, `{}`: nil} {
		var d Durations
		if err := json.Unmarshal([]byte(text), &d); (err == nil) != (want != nil) || want != nil && !maps.Equal(d, want) {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }

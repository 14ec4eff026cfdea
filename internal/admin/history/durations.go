package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Durations is the distribution of durations: the number of calls in each of a fixed set of buckets, so that distributions can be
// added. Up to 16 µs a bucket is one microsecond wide; then each power of two is divided into 16 buckets, so that a percentile is
// at most 3.2 % from the exact one.
type Durations map[int]int64

// perOctave is the number of buckets of each power of two.
const perOctave, octaveBits = 16, 4

// maxBucket is the bucket of the longest time.Duration.
var maxBucket = bucketOf(1<<63 - 1)

// bucketOf returns the bucket of a number of microseconds.
func bucketOf(µs int64) int {
	if µs < perOctave {
		return int(max(µs, 0))
	}
	shift := bits.Len64(uint64(µs)) - 1 - octaveBits
	return shift*perOctave + int(µs>>shift)
}

// middle returns the middle of a bucket.
func middle(bucket int) time.Duration {
	shift := max(0, bucket/perOctave-1)
	µs := int64(bucket-shift*perOctave)<<shift + int64(1)<<shift/2
	return time.Duration(min(µs, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// Calls returns the number of calls in d.
func (d Durations) Calls() int64 {
	n := int64(0)
	for _, calls := range d {
		n += calls
	}
	return n
}

// Percentile returns the duration that the share p of the calls does not exceed, about; 0 if there is no call.
func (d Durations) Percentile(p float64) time.Duration {
	rank, seen := int64(p*float64(d.Calls())), int64(0)
	buckets := slices.Sorted(maps.Keys(d))
	for _, bucket := range buckets {
		if seen += d[bucket]; seen > rank {
			return middle(bucket)
		}
	}
	if len(buckets) == 0 {
		return 0
	}
	return middle(buckets[len(buckets)-1])
}

// MarshalJSON encodes d as a list of pairs: bucket, calls.
func (d Durations) MarshalJSON() ([]byte, error) {
	pairs := make([]int64, 0, 2*len(d))
	for _, bucket := range slices.Sorted(maps.Keys(d)) {
		pairs = append(pairs, int64(bucket), d[bucket])
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (d *Durations) UnmarshalJSON(text []byte) error {
	var pairs []int64
	if err := json.Unmarshal(text, &pairs); err != nil {
		return err
	}
	*d = Durations{}
	for pair := range slices.Chunk(pairs, 2) {
		if len(pair) != 2 || pair[0] < 0 || pair[0] > int64(maxBucket) || pair[1] <= 0 {
			return fmt.Errorf("durations: invalid pair %v", pair)
		}
		(*d)[int(pair[0])] = pair[1]
	}
	return nil
}

//go:build unix

package derived

import (
	"bytes"
	"testing"
	"time"
)

// BenchmarkGet measures a cache hit. A scan of unchanged files costs one hit for each file.
func BenchmarkGet(b *testing.B) {
	c := NewCache(Tag{}, false, nil, nil)
	c.devices[7] = true
	at := time.Now().Add(-time.Hour).UnixNano()
	key := func(n int) Key { return Key{Dev: 7, Ino: uint64(n), Mtime: at, Ctime: at} }
	const files = 1000
	for n := range files {
		c.entries.put(key(n), entry{data: make([]byte, 500)})
	}
	for n := 0; b.Loop(); n++ {
		if _, err := c.Get(b.Context(), key(n%files), noFile, func() {}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead measures what a worker does before its first derivation: it reads a full file of earlier workers.
func BenchmarkRead(b *testing.B) {
	content := header(Tag{})
	for n := 0; len(content) < maxFile; n++ {
		content = appendRecord(content, old(n), make([]byte, 500))
	}
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		g := generations{max: maxMemory}
		if err := readRecords(bytes.NewReader(content), Tag{}, func(k Key, data []byte) { g.put(k, entry{data: data}) }); err != nil {
			b.Fatal(err)
		}
	}
}

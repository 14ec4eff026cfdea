package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	numbered := func(from, to int) string {
		var lines []string
		for i := from; i <= to; i++ {
			lines = append(lines, fmt.Sprintf("line %d", i))
		}
		return strings.Join(lines, "\n")
	}
	long := strings.Repeat("y", 3*tailBlock)
	tests := []struct {
		name    string
		content string
		lines   uint64
		max     int64
		want    string
		cut     bool
	}{
		{"the last 100 of 250", numbered(1, 250) + "\n", 100, 1 << 20, numbered(151, 250), false},
		{"the last 5", numbered(1, 250), 5, 1 << 20, numbered(246, 250), false},
		{"an empty file", "", 100, 1 << 20, "", false},
		{"zero lines", "a\nb\n", 0, 1 << 20, "", false},
		{"fewer lines than requested", "a\nb\n", 100, 1 << 20, "a\nb", false},
		{"exactly the requested lines", "a\nb", 2, 1 << 20, "a\nb", false},
		{"an empty last line counts", "a\nb\n\n", 2, 1 << 20, "b\n", false},
		{"carriage returns are removed", "a\r\nb\r\nc\r\n", 2, 1 << 20, "b\nc", false},
		{"invalid UTF-8 is replaced", "a\xffb\n", 1, 1 << 20, "a\uFFFDb", false},
		{"lines across blocks", "x\n" + long + "\n" + long + "\nend\n", 3, 1 << 30, long + "\n" + long + "\nend", false},
		{"the largest number of lines", "a\nb\n", 1<<64 - 1, 1 << 20, "a\nb", false},
		{"the limit cuts at a line", "one\ntwo\nthree\n", 3, 10, "three", true},
		{"a line longer than the limit is cut", "0123456789", 1, 4, "6789", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, cut, err := Tail(path, test.lines, test.max)
			if err != nil || got != test.want || cut != test.cut {
				t.Errorf("got %.80q, %v, %v\nwant %.80q, %v", got, cut, err, test.want, test.cut)
			}
		})
	}
}

func FuzzTail(f *testing.F) {
	f.Add("a\nb\r\n\nc", uint64(2))
	f.Add(strings.Repeat("x\n", tailBlock), uint64(tailBlock))
	f.Fuzz(func(t *testing.T, content string, lines uint64) {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := Tail(path, lines, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		// The reference implementation reads the whole file and splits its content into lines.
		all := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
		if uint64(len(all)) > lines {
			all = all[uint64(len(all))-lines:]
		}
		want := strings.ReplaceAll(strings.ToValidUTF8(strings.Join(all, "\n")+"\n", "\uFFFD"), "\r\n", "\n")
		if want = strings.TrimSuffix(want, "\n"); lines == 0 {
			want = ""
		}
		if strings.HasSuffix(content, "\n") || !strings.HasSuffix(content, "\r") {
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

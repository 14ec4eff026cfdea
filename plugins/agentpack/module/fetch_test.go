package module

import (
	"strings"
	"testing"
)

func TestFetchBoundsRepository(t *testing.T) {
	cases := []struct {
		name string
		full checkout
		want string
	}{
		{"of many files", checkout{files: maxCheckoutFiles}, "more than 20000 files"},
		{"of large files", checkout{bytes: maxCheckoutBytes}, "256 MiB"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			test.full.dir = t.TempDir()
			if err := test.full.write(RemoteFile{Path: "f", Content: []byte("x")}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

package platform

import (
	"os"
	"testing"
)

func TestFileSystemOfTheTestsIsKnown(t *testing.T) {
	file, err := os.Open("/proc/self/status")
	if err == nil {
		defer file.Close()
		if _, local, err := FileSystem(file); err != nil || local {
			t.Errorf("/proc counts as local: %t, %v", local, err)
		}
	}
	if file, err = os.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if dev, _, err := FileSystem(file); err != nil || dev == 0 {
		t.Errorf("the temporary directory is on device %d, %v", dev, err)
	}
}

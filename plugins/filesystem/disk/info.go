package disk

import (
	"fmt"
	"os"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/text"
)

// Info describes a file or directory, with one property in a line.
func (d Disk) Info(requested string) (string, error) {
	at, err := d.resolve(requested)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(at)
	if err != nil {
		return "", failure(err, "stat", at)
	}
	mode, created, err := d.Mode(at)
	if err != nil {
		return "", failure(err, "stat", at)
	}
	accessed, changed := times(info)
	if created.IsZero() {
		created = changed
	}
	return fmt.Sprintf("size: %d\ncreated: %s\nmodified: %s\naccessed: %s\nisDirectory: %t\nisFile: %t\npermissions: %s", info.Size(), text.Time(created),
		text.Time(info.ModTime()), text.Time(accessed), info.IsDir(), info.Mode().IsRegular(), fmt.Sprintf("%o", 0o1000|mode.Perm())[1:]), nil
}

package confine

import "golang.org/x/sys/unix"

// Probe returns the Report of a process that is confined with Prepare and Apply and a Config that uses every layer. It
// does not restrict the caller. The first call creates a short-lived process, which starts no program.
func Probe() Report {
	a := application{threads: openThreads()}
	a.threads.close()
	_, namespaces := permitted.available()
	if namespaces != nil {
		namespaces = missingError(namespaces.Error())
	}
	a.record(LayerNamespaces, "", namespaces)
	a.record(LayerParentDeath, "", a.threads.missing)
	a.record(LayerOOMScore, "", accessible(oomScoreFile))
	a.record(LayerDescriptors, "", accessible(oomScoreFile))
	a.record(LayerThreads, "", probeThreads(namespaces))
	a.record(LayerNoNewPrivs, "", a.threads.missing)
	a.record(LayerHandles, "", probeHandles(namespaces))
	a.record(LayerRoot, "", probeRoot(namespaces))
	a.record(LayerCapabilities, "", a.threads.missing)
	a.record(LayerNoDump, "", nil)
	a.probeLandlock()
	a.record(LayerLimits, "", nil)
	a.record(LayerSeccomp, "", probeSeccomp())
	return a.report
}

// accessible returns an error unless a file can be written to.
func accessible(file string) error {
	if err := unix.Access(file, unix.W_OK); err != nil {
		return missingError(file + ": " + err.Error())
	}
	return nil
}

func probeRoot(namespaces error) error {
	if namespaces != nil && !hasCapability(unix.CAP_SYS_CHROOT) {
		return namespaces
	}
	return nil
}

// probeHandles makes the newest system call of detachHandles, with an invalid descriptor.
func probeHandles(namespaces error) error {
	if namespaces != nil {
		return namespaces
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH, &attr); err == unix.ENOSYS {
		return missingError("the kernel lacks the system call mount_setattr (Linux 5.12)")
	}
	return nil
}

func (a *application) probeLandlock() {
	o, err := landlockOffer()
	if err == nil {
		err = a.threads.missing
	}
	if err != nil {
		reason := missingError(err.Error())
		o.files, o.network, o.scope = reason, reason, reason
	}
	a.record(LayerLandlock, o.fileNote, o.files)
	a.record(LayerNetwork, "", o.network)
	a.record(LayerScope, o.scopeNote, o.scope)
}

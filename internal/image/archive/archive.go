// Package archive writes archives that depend on nothing but their content: no
// times, no owners, files in the order given.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"time"
)

// File is one in an archive.
type File struct {
	Name       string // with slashes, relative
	Content    []byte
	Executable bool
}

// Tar writes files as a tar archive, and an entry for each folder before what is
// in it.
func Tar(files []File) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	made := map[string]bool{".": true}
	for _, f := range files {
		if err := folders(w, made, path.Dir(f.Name)); err != nil {
			return nil, err
		}
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Content)), Mode: 0o644,
			ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
		}
		if f.Executable {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.Name, err)
		}
		if _, err := w.Write(f.Content); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("end the archive: %w", err)
	}
	return out.Bytes(), nil
}

func folders(w *tar.Writer, made map[string]bool, dir string) error {
	if made[dir] {
		return nil
	}
	if err := folders(w, made, path.Dir(dir)); err != nil {
		return err
	}
	made[dir] = true
	h := &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if err := w.WriteHeader(h); err != nil {
		return fmt.Errorf("archive %s: %w", dir, err)
	}
	return nil
}

// Gzip compresses.
func Gzip(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// TarGzip writes files as a compressed tar archive.
func TarGzip(files []File) ([]byte, error) {
	content, err := Tar(files)
	if err != nil {
		return nil, err
	}
	return Gzip(content)
}

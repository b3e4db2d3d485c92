package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strings"

	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// object is decoded JSON.
type object = map[string]any

// complete reads the rows of one file, and writes them to another. All programs of the chain use it.
func complete(from, to string, each func(row object)) {
	in, err := os.Open(from)
	check(err)
	defer in.Close()
	unpacked, err := gzip.NewReader(in)
	check(err)
	out, err := os.Create(to)
	check(err)
	packed := gzip.NewWriter(out)
	buffered := bufio.NewWriter(packed)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	count := 0
	for decoder := json.NewDecoder(unpacked); ; count++ {
		row := object{}
		if err := decoder.Decode(&row); errors.Is(err, io.EOF) {
			break
		} else {
			check(err)
		}
		each(row)
		check(encoder.Encode(row))
	}
	check(buffered.Flush())
	check(packed.Close())
	check(out.Close())
	log.Printf("%s: %d rows", to, count)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func convert[T any](value any) T {
	text, err := json.Marshal(value)
	check(err)
	var result T
	check(json.Unmarshal(text, &result))
	return result
}

// refusedByAPIServer returns the API server's errors about the metadata of an object, for the checks that apply to
// custom resources of all kinds.
func refusedByAPIServer(meta metav1.Object) any {
	reasons := metavalidation.ValidateObjectMetaAccessor(meta, true, metavalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if len(reasons) == 0 {
		return nil
	}
	// Newer versions of the library include the unit.
	return strings.ReplaceAll(reasons.ToAggregate().Error(), "no more than 63 characters", "no more than 63 bytes")
}

// The oracle runs HyperConverged Cluster Operator (HCO) code for generated HyperConverged objects, and records the
// results: the expected columns that crates/engine/tests/suite/conformance.rs and updates.rs compare with the engine.
//
// The oracle has no go.mod. HCO is not on the Go module proxy, and parts of it are in internal packages, so `go build
// -overlay` puts these files into cmd/ of an HCO checkout, where they are compiled with HCO's own go.mod, replace lines
// and vendor directory. The checkout is not changed, and no HCO code is copied. The script `run` does this.
//
// HCO reads its common templates from the working directory when it starts: run the oracle in assets/ of the checkout.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// chain generates a row about the object that HCO passes to SSP, for the versions of HCO that chain.go supports.
var chain func(*oracle, *generator, int) any

func main() {
	log.SetFlags(0)
	log.SetPrefix("oracle: ")
	var (
		checkout = flag.String("hco", "", "the HCO checkout that the oracle was built in")
		out      = flag.String("out", "", "the directory for hco.jsonl.gz and update.jsonl.gz")
		seed     = flag.Uint64("seed", 1, "the same seed gives the same objects")
		created  = flag.Int("created", 5000, "how many objects to create")
		updated  = flag.Int("updated", 1000, "how many requests to update an object")
		chained  = flag.Int("chained", 0, "how many objects to hand over to SSP, instead of the others")
	)
	flag.Parse()
	if *checkout == "" || *out == "" {
		log.Fatal("-hco and -out are required")
	}
	ctrl.SetLogger(logr.Discard())
	if err := os.Setenv("OPERATOR_NAMESPACE", namespace); err != nil {
		log.Fatal(err)
	}

	oracle, err := newOracle(*checkout)
	if err != nil {
		log.Fatal(err)
	}
	generator, err := newGenerator(*seed, filepath.Join(*checkout, "assets", "dataImportCronTemplates"))
	if err != nil {
		log.Fatal(err)
	}
	type corpus struct {
		file  string
		count int
		row   func(int) any
	}
	corpora := []corpus{
		{"hco.jsonl.gz", *created, func(i int) any {
			row := generator.create(i)
			if oracle.serves(row.HCO) {
				row.Expected = oracle.create(row)
				return row
			}
			return nil
		}},
		{"update.jsonl.gz", *updated, func(i int) any {
			row := generator.update(i)
			if oracle.serves(row.Request["object"].(object)) {
				oracle.update(row)
				return row
			}
			return nil
		}},
	}
	if *chained > 0 {
		if chain == nil {
			log.Fatal("only HCO 1.19 and later hand over what SSP of today reads")
		}
		corpora = []corpus{{"handed-over.jsonl.gz", *chained, func(i int) any { return chain(oracle, generator, i) }}}
	}
	for _, corpus := range corpora {
		written, err := write(filepath.Join(*out, corpus.file), corpus.count, corpus.row)
		if err != nil {
			log.Fatal(err)
		}
		skipped := ""
		if written < corpus.count {
			skipped = fmt.Sprintf(", %d skipped: this HCO does not serve their API version", corpus.count-written)
		}
		log.Printf("%s: %d rows%s", corpus.file, written, skipped)
	}
}

// write stores rows as gzipped JSON lines. The header of the file has neither name nor time, so the same rows give the
// same bytes.
func write(path string, count int, row func(int) any) (written int, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	compressed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	buffered := bufio.NewWriter(compressed)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for i := range count {
		row := row(i)
		if row == nil {
			continue
		}
		if err := encoder.Encode(row); err != nil {
			return written, err
		}
		written++
	}
	if err := buffered.Flush(); err != nil {
		return written, err
	}
	if err := compressed.Close(); err != nil {
		return written, err
	}
	return written, file.Close()
}

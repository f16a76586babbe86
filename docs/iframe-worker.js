/* Runs the search in an iframe when the site is opened from disk, where browsers refuse workers. */
window.IFrameWorker = class extends EventTarget {
  constructor(url) {
    super();
    this.waiting = [];
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.frame.srcdoc = "<!doctype html><script>parent.IFrameWorker.prepare(self)<\/script><script src='" + url + "'><\/script>";
    this.frame.onload = () => {
      this.ready = true;
      this.waiting.splice(0).forEach((data) => this.deliver(data));
    };
    window.IFrameWorker.made.push(this);
    document.body.append(this.frame);
  }

  /* Gives the iframe the functions that a worker has. */
  static prepare(scope) {
    const worker = this.made.find((one) => one.frame.contentWindow === scope);
    scope.postMessage = (data) => worker.dispatchEvent(new MessageEvent("message", { data }));
    scope.importScripts = (...urls) =>
      urls.reduce(
        (before, url) =>
          before.then(
            () =>
              new Promise((resolve, reject) => {
                const script = scope.document.createElement("script");
                script.onload = resolve;
                script.onerror = () => reject(new Error("cannot load " + url));
                script.src = url;
                scope.document.body.append(script);
              }),
          ),
        Promise.resolve(),
      );
  }

  postMessage(data) {
    if (this.ready) this.deliver(data);
    else this.waiting.push(data);
  }

  deliver(data) {
    this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
  }

  terminate() {
    this.frame.remove();
  }
};
window.IFrameWorker.made = [];
if (location.protocol === "file:") window.Worker = window.IFrameWorker;

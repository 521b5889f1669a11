// SPDX-License-Identifier: Apache-2.0
// javascript_session.js KUBECONFIG: what the official JavaScript client does in ordinary use: typed calls,
// patches, server-side apply, an informer, a watch, custom objects. Seen of kube-apiserver 1.36.2 with version 1.3.
const k8s = require('@kubernetes/client-node');

const config = new k8s.KubeConfig();
config.loadFromFile(process.argv[2]);
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const extensions = config.makeApiClient(k8s.ApiextensionsV1Api);
const version = config.makeApiClient(k8s.VersionApi);
const name = 'js-' + Date.now() % 10000000;
let failures = 0;
let steps = 0;

function expect(what, got, wanted) {
    ++steps;
    if (JSON.stringify(got) === JSON.stringify(wanted)) return;
    ++failures;
    console.log(`FAIL ${what}: got ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`);
}

async function codeOf(promise) {
    try {
        await promise;
        return 200;
    } catch (error) {
        return error.code;
    }
}

function pause(milliseconds) {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function until(question) {
    return new Promise((resolve) => {
        const end = Date.now() + 20000;
        const look = () => (question() || Date.now() > end ? resolve(question()) : setTimeout(look, 20));
        look();
    });
}

async function typed() {
    expect('version', (await version.getCode()).major, '1');
    const made = await core.createNamespace({ body: { metadata: { name } } });
    expect('namespace', made.status.phase, 'Active');
    const body = { metadata: { name: 'a' }, data: { x: '1' } };
    await core.createNamespacedConfigMap({ namespace: name, body });
    expect('conflict', await codeOf(core.createNamespacedConfigMap({ namespace: name, body })), 409);
    expect('missing', await codeOf(core.readNamespacedConfigMap({ namespace: name, name: 'none' })), 404);
    const read = await core.readNamespacedConfigMap({ namespace: name, name: 'a' });
    expect('date', read.metadata.creationTimestamp instanceof Date, true);
    read.data.x = '2';
    const replaced = await core.replaceNamespacedConfigMap({ namespace: name, name: 'a', body: read });
    expect('replaced', replaced.data, { x: '2' });
    const patched = await core.patchNamespacedConfigMap(
        { namespace: name, name: 'a', body: [{ op: 'add', path: '/data/y', value: '3' }] },
        k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.JsonPatch));
    expect('patched', patched.data, { x: '2', y: '3' });
    const list = await core.listNamespacedConfigMap({ namespace: name, fieldSelector: 'metadata.name=a' });
    expect('list', list.items.map((item) => item.metadata.name), ['a']);
}

async function deployments() {
    const body = {
        metadata: { name: 'd' },
        spec: {
            selector: { matchLabels: { app: 'd' } },
            template: { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
        },
    };
    await apps.createNamespacedDeployment({ namespace: name, body });
    const scale = await apps.readNamespacedDeploymentScale({ namespace: name, name: 'd' });
    scale.spec.replicas = 4;
    await apps.replaceNamespacedDeploymentScale({ namespace: name, name: 'd', body: scale });
    expect('scaled', (await apps.readNamespacedDeployment({ namespace: name, name: 'd' })).spec.replicas, 4);
    const status = await apps.patchNamespacedDeploymentStatus(
        { namespace: name, name: 'd', body: { status: { replicas: 4 } } },
        k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
    expect('status', status.status.replicas, 4);
}

async function applied() {
    const spec = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ssa', namespace: name }, data: { a: '1' } };
    const made = await objects.patch(spec, undefined, undefined, 'js', true, k8s.PatchStrategy.ServerSideApply);
    expect('applied', made.metadata.managedFields.map((entry) => entry.operation), ['Apply']);
    const other = { ...spec, data: { a: '2' } };
    const apply = objects.patch(other, undefined, undefined, 'other', false, k8s.PatchStrategy.ServerSideApply);
    expect('conflict', await codeOf(apply), 409);
    expect('read', (await objects.read(spec)).data, { a: '1' });
    expect('deleted', (await objects.delete(spec)).status, 'Success');
}

async function informed() {
    const seen = [];
    const path = `/api/v1/namespaces/${name}/secrets`;
    const informer = k8s.makeInformer(config, path, () => core.listNamespacedSecret({ namespace: name }));
    for (const event of ['add', 'update', 'delete']) {
        informer.on(event, (object) => seen.push(`${event} ${object.metadata.name}`));
    }
    informer.on('error', () => {});
    await informer.start();
    await core.createNamespacedSecret({ namespace: name, body: { metadata: { name: 's' } } });
    await core.patchNamespacedSecret({ namespace: name, name: 's', body: { data: { a: 'Yg==' } } },
        k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
    await core.deleteNamespacedSecret({ namespace: name, name: 's' });
    await until(() => seen.length >= 3);
    expect('informed', seen, ['add s', 'update s', 'delete s']);
    await informer.stop();
}

async function kinds() {
    const group = `${name}.example.com`;
    const anything = { type: 'object', x_kubernetes_preserve_unknown_fields: true };
    await extensions.createCustomResourceDefinition({
        body: {
            metadata: { name: `things.${group}` },
            spec: {
                group, scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' },
                versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: anything } }],
            },
        },
    });
    const where = { group, version: 'v1', namespace: name, plural: 'things' };
    const body = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 't' }, spec: { free: [1, 'two'] } };
    let made;
    for (let attempt = 0; attempt < 200 && !made; ++attempt) {
        made = await custom.createNamespacedCustomObject({ ...where, body }).catch(() => pause(100));
    }
    expect('custom', made && made.spec, { free: [1, 'two'] });
    const list = await custom.listNamespacedCustomObject(where);
    expect('listed', list.items.length, 1);
    await extensions.deleteCustomResourceDefinition({ name: `things.${group}` });
}

async function main() {
    for (const part of [typed, deployments, applied, informed, kinds]) {
        await part().catch((error) => {
            ++failures;
            console.log(`FAIL ${part.name}: ${error.stack}`);
        });
    }
    await core.deleteNamespace({ name });
    console.log(`${steps} JavaScript steps, ${failures} differences`);
    process.exit(failures ? 1 : 0);
}

main();
